"""Training: the same twice, the same when stopped and continued, and it says what it made."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import robustbench_twicing.training.session as session
from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.reading import read_checkpoint
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet import LabelSpace
from robustbench_twicing.errors import UserError
from robustbench_twicing.training.progress import Progress
from robustbench_twicing.training.recipe import Recipe
from robustbench_twicing.training.recipes import RECIPES
from robustbench_twicing.training.scoring import count_right
from robustbench_twicing.training.session import train
from tests.tiny import noise

pytestmark = [pytest.mark.usefixtures("tiny"), pytest.mark.slow]
TWICING = "fmnist_twicing[2]"


class Killed(Exception):
    """Stands for the end of the process."""


def weights(folder: Path) -> dict[str, Tensor]:
    content = read_checkpoint(folder / "model.safetensors").content
    tensors: dict[str, Tensor] = content["state_dict"]
    return tensors


def same(one: Path, other: Path) -> bool:
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(
        torch.equal(tensor, second[key]) for key, tensor in first.items()
    )


def log(folder: Path) -> list[dict[str, Any]]:
    """The log without its times."""
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def killer(at: int) -> Callable[[Progress], None]:
    def report(now: Progress) -> None:
        if now.step == at:
            raise Killed

    return report


@pytest.mark.parametrize("name", [TWICING, "fmnist_fan"])
def test_the_same_training_twice_is_the_same_bit_for_bit(
    name: str, images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    before = torch.get_rng_state()
    for run in ("one", "two"):
        train(name, images, tmp_path / run, recipe=recipe, val=images)
        torch.rand(3)  # the generator outside must not matter
    torch.set_rng_state(before)
    train(name, images, tmp_path / "other", recipe=recipe, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert same(tmp_path / "one", tmp_path / "two")
    assert log(tmp_path / "one") == log(tmp_path / "two")
    assert not same(tmp_path / "one", tmp_path / "other")


def test_workers_change_nothing(images: Dataset, recipe: Recipe, tmp_path: Path) -> None:
    short = replace(recipe, epochs=1)
    for workers in (0, 2):
        train(TWICING, images, tmp_path / str(workers), recipe=short, workers=workers)
    assert same(tmp_path / "0", tmp_path / "2")


@pytest.mark.parametrize("at", [3, 5, 6, 10])
def test_a_training_that_was_killed_ends_like_one_that_was_not(
    at: int, images: Dataset, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LOG_EVERY", 1)
    monkeypatch.setattr(session, "SAVE_EVERY", 0.0)
    train(TWICING, images, tmp_path / "whole", recipe=recipe, val=images)
    with pytest.raises(Killed):
        train(TWICING, images, tmp_path / "cut", recipe=recipe, val=images, report=killer(at))
    assert not (tmp_path / "cut" / "model.safetensors").exists()
    steps: list[int] = []
    train(
        TWICING,
        images,
        tmp_path / "cut",
        recipe=recipe,
        val=images,
        report=lambda now: steps.append(now.step),
    )
    assert steps[0] > at - 2, "it began where it was stopped, not from the start"
    assert same(tmp_path / "whole", tmp_path / "cut")
    assert log(tmp_path / "whole") == log(tmp_path / "cut")
    ema = [read_checkpoint(tmp_path / run / "last.pth").content["state_dict_ema"]
           for run in ("whole", "cut")]  # fmt: skip
    assert all(torch.equal(tensor, ema[1][key]) for key, tensor in ema[0].items())


def test_losses_between_two_lines_of_the_log_survive(
    images: Dataset, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state is written after step 4, in the middle of a line of three steps."""
    monkeypatch.setattr(session, "LOG_EVERY", 3)
    train(TWICING, images, tmp_path / "whole", recipe=recipe)
    monkeypatch.setattr(session, "SAVE_EVERY", 0.0)
    with pytest.raises(Killed):
        train(TWICING, images, tmp_path / "cut", recipe=recipe, report=killer(5))
    train(TWICING, images, tmp_path / "cut", recipe=recipe)
    assert log(tmp_path / "cut") == log(tmp_path / "whole")


def test_a_finished_training_is_not_done_again(
    images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    first = train(TWICING, images, tmp_path / "run", recipe=recipe, val=images)
    again = train(TWICING, images, tmp_path / "run", recipe=recipe, val=images, report=killer(1))
    assert again == first
    assert first.images == 40


def test_what_it_writes_loads_under_its_own_name_alone(
    images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    done = train(TWICING, images, tmp_path / "run", recipe=recipe, val=images)
    model = load_model(TWICING, checkpoint=done.weights)
    details = model.record.details
    assert details["architecture"] == TWICING
    assert details["recipe_sha256"] == recipe.sha256()
    assert (details["seed"], details["accuracy"]) == ("0", f"{done.right} of 40")
    assert model.record.notes == ()
    spec = model.preprocessing
    assert count_right(model.network, images, spec, torch.device("cpu")) == done.right
    for other in ("fmnist_twicing", "fmnist_twicing[1]", "fmnist_deit"):
        with pytest.raises(UserError, match=r"says it is fmnist_twicing\[2\]"):
            load_model(other, checkpoint=done.weights)
    flagged = load_model("fmnist_deit", checkpoint=done.weights, arch_override=True)
    assert flagged.record.flags == ("arch-override",)


def test_all_layers_are_named_too(images: Dataset, recipe: Recipe, tmp_path: Path) -> None:
    short = replace(recipe, epochs=1)
    done = train("fmnist_twicing", images, tmp_path / "run", recipe=short)
    assert load_model("fmnist_twicing", checkpoint=done.weights).record.flags == ()
    with pytest.raises(UserError, match=r"fmnist_twicing\[1-2\]"):
        load_model(TWICING, checkpoint=done.weights)


def test_the_state_is_a_checkpoint_with_plain_and_averaged_weights(
    images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    train(TWICING, images, tmp_path / "run", recipe=recipe)
    state = tmp_path / "run" / "last.pth"
    plain = load_model(TWICING, checkpoint=state).network.state_dict()
    averaged = load_model(TWICING, checkpoint=state, weights="ema").network.state_dict()
    final = weights(tmp_path / "run")
    assert all(torch.equal(plain[key], final[key]) for key in final)
    assert not torch.equal(averaged["head.weight"], plain["head.weight"])
    assert torch.load(state, weights_only=True)["taken"] == 10


def test_the_zoo_s_recipe_learns(images: Dataset, tmp_path: Path) -> None:
    plain = replace(RECIPES["fmnist"], epochs=12, batch_size=8, lr=1e-2)
    train("fmnist_deit", images, tmp_path / "run", recipe=plain)
    losses = [line["loss"] for line in log(tmp_path / "run")]
    assert losses[-1] < losses[0] - 0.1


def test_another_training_in_the_same_folder_is_refused(
    images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    train(TWICING, images, tmp_path / "run", recipe=recipe)
    for name, changes in (
        ("fmnist_deit", {}),
        (TWICING, {"seed": 1}),
        (TWICING, {"recipe": replace(recipe, lr=2e-3)}),
        (TWICING, {"val": images}),
    ):
        options: dict[str, Any] = {"recipe": recipe, **changes}
        with pytest.raises(UserError, match="holds a training with other settings"):
            train(name, images, tmp_path / "run", **options)
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        with pytest.raises(UserError, match=f"threads are {threads} there and {threads + 1} in"):
            train(TWICING, images, tmp_path / "run", recipe=recipe)
    finally:
        torch.set_num_threads(threads)


def test_a_folder_with_something_else_is_refused(
    images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="not empty and not a training"):
        train(TWICING, images, tmp_path, recipe=recipe)
    (tmp_path / "train.json").write_text("{")
    with pytest.raises(UserError, match=r"train\.json is not JSON"):
        train(TWICING, images, tmp_path, recipe=recipe)


def test_images_that_do_not_fit_are_refused_before_work(
    images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with pytest.raises(UserError, match="40 images, fewer than one batch of 64"):
        train(TWICING, images, out, recipe=replace(recipe, batch_size=64))
    with pytest.raises(UserError, match="does not say how many classes"):
        train(TWICING, noise(40), out, recipe=recipe)
    with pytest.raises(UserError, match="timm's own script"):
        train("timm:test_vit", images, out, recipe=recipe)
    five = replace(images, num_classes=5)
    with pytest.raises(UserError, match="has 5 classes and fashion-mnist:test1000 10"):
        train(TWICING, images, out, recipe=recipe, val=five)
    space = LabelSpace("imagenet-a", ((0,), (1,)), False, "2-way")
    with pytest.raises(UserError, match="cannot be trained on"):
        train(TWICING, images, out, recipe=recipe, val=replace(images, space=space))
    assert not out.exists()


@pytest.mark.parametrize("workers", [0, 1])
def test_an_image_that_cannot_be_decoded_is_named(
    workers: int, recipe: Recipe, tmp_path: Path
) -> None:
    data = replace(noise(16, bad=[3]), num_classes=5)
    with pytest.raises(UserError, match=r"/photos/3.png"):
        train("fmnist_deit", data, tmp_path / "run", recipe=recipe, workers=workers)


def test_a_loss_that_is_not_finite_stops_the_training(
    images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    wild = replace(recipe, lr=1e30, warmup_epochs=0)
    with pytest.raises(UserError, match=r"the loss is nan at step .* a lower lr"):
        train("fmnist_deit", images, tmp_path / "run", recipe=wild)
