"""Batches: every image once, repeats beside each other, draws by the seed alone."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.models.resolve import resolve_model
from robustbench_twicing.training.batches import Batch, EpochBatches
from robustbench_twicing.training.recipe import Recipe

PREPROCESSING = resolve_model("fmnist_deit").preprocessing
PLAIN: dict[str, Any] = {
    **{"mixup": 0.0, "cutmix": 0.0, "auto_augment": "", "erase_prob": 0.0, "color_jitter": 0.0},
    **{"crop_scale": 1.0, "crop_ratio": 1.0, "hflip": 0.0, "repeats": 1},
}


def epoch(data: Dataset, recipe: Recipe, *, seed: int = 0, number: int = 0) -> EpochBatches:
    return EpochBatches(data, recipe, PREPROCESSING, num_classes=10, seed=seed, epoch=number)


def batch(batches: EpochBatches, step: int) -> Batch:
    made = batches[step]
    assert not isinstance(made, str)
    return made


def test_without_augmentation_a_batch_is_the_normalised_images(
    images: Dataset, recipe: Recipe
) -> None:
    batches = epoch(images, replace(recipe, **PLAIN))
    pixels, labels = batch(batches, 2)
    mean, std = (
        torch.tensor(part).view(3, 1, 1) for part in (PREPROCESSING.mean, PREPROCESSING.std)
    )
    for row, index in enumerate(batches.order[2].tolist()):
        image = torch.from_numpy(images.pixels(index, PREPROCESSING)).permute(2, 0, 1) / 255
        torch.testing.assert_close(pixels[row], (image - mean) / std)
        assert labels[row] == images.labels[index]


def test_an_epoch_shows_every_image_once_in_an_order_of_its_own(
    images: Dataset, recipe: Recipe
) -> None:
    plain = replace(recipe, **PLAIN)
    orders = [
        epoch(images, plain, seed=seed, number=number).order.flatten().tolist()
        for seed, number in ((0, 0), (0, 1), (1, 0))
    ]
    for order in orders:
        assert sorted(order) == list(range(40))
    assert orders[0] != orders[1]
    assert orders[0] != orders[2]


def test_repeats_stand_beside_each_other_and_differ(images: Dataset, recipe: Recipe) -> None:
    batches = epoch(images, replace(recipe, mixup=0.0, cutmix=0.0, repeats=2))
    assert len(batches) == 5
    order = batches.order.flatten().tolist()
    assert order[0::2] == order[1::2]
    assert len(set(order)) == 20
    pixels, _ = batch(batches, 0)
    assert not torch.equal(pixels[0], pixels[1])


def test_what_fills_no_batch_is_left_out(images: Dataset, recipe: Recipe) -> None:
    assert len(epoch(images, replace(recipe, batch_size=12, repeats=1))) == 3


def test_a_batch_depends_on_seed_epoch_and_step_alone(images: Dataset, recipe: Recipe) -> None:
    before = random.getstate(), torch.get_rng_state()
    state = np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
    first, targets = batch(epoch(images, recipe), 1)
    again, targets_again = batch(epoch(images, recipe), 1)
    assert torch.equal(first, again)
    assert torch.equal(targets, targets_again)
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    np.testing.assert_array_equal(np.random.get_state(legacy=False)["state"]["key"], state)  # noqa: NPY002


@pytest.mark.parametrize("other", [{"seed": 1}, {"number": 1}, {"step": 2}])
def test_the_same_images_are_augmented_anew_by_seed_epoch_and_step(
    other: dict[str, int], images: Dataset, recipe: Recipe
) -> None:
    step = other.pop("step", 1)
    one, two = epoch(images, recipe), epoch(images, recipe, **other)
    two.order = one.order[1].expand(5, -1)
    assert not torch.equal(batch(one, 1)[0], batch(two, step)[0])


@pytest.mark.parametrize(
    "augmentation",
    [
        {"erase_prob": 1.0},
        {"hflip": 1.0},
        {"crop_scale": 0.1},
        {"color_jitter": 0.4},
        {"auto_augment": "rand-m9-mstd0.5-inc1"},
        {"mixup": 0.8},
        {"cutmix": 1.0},
    ],
)
def test_every_augmentation_of_a_recipe_does_something(
    augmentation: dict[str, Any], images: Dataset, recipe: Recipe
) -> None:
    plain = replace(recipe, **PLAIN)
    before, _ = batch(epoch(images, plain), 0)
    after, _ = batch(epoch(images, replace(plain, **augmentation)), 0)
    assert before.shape == after.shape
    assert not torch.equal(before, after)


def test_mixed_targets_are_shares_that_sum_to_one(images: Dataset, recipe: Recipe) -> None:
    _, targets = batch(epoch(images, recipe), 0)
    assert targets.shape == (8, 10)
    torch.testing.assert_close(targets.sum(1), torch.ones(8))
    assert float(targets.min()) == float(np.float32(0.1 / 10))
