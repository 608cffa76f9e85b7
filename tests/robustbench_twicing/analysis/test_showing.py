"""Images under conditions are those of an evaluation, and attacks are not looked at."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attacks import ATTACKS
from robustbench_twicing.analysis.measures import Measure, Rows, attention
from robustbench_twicing.analysis.running import Measured, measure_images
from robustbench_twicing.analysis.showing import Shown, shown_images
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.probe import LayerTensor
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.data.dataset import Dataset, Pixels
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import MissingImageError, UserError
from robustbench_twicing.evaluation.options import Options
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.adversarial import AdversarialStore, read_adversarial
from tests.tiny import PREPROCESSING, SIDE, noise, quick_conditions, run

DEPTH, IMAGES, BAD = 2, 7, 2
OPTIONS = Options(batch_size=3, seed=5, on_bad_image="skip")
ATTACKED = quick_conditions("fgsm", "pgd", budgets=(Fraction(1, 255), Fraction(8, 255)))


class Negative:
    """Shows every image inverted, but has none of the first."""

    def pixels(
        self, data: Dataset, index: int, preprocessing: Preprocessing, *, seed: int
    ) -> Pixels:
        if index == 0:
            raise MissingImageError("there is no negative of it")
        return 255 - data.pixels(index, preprocessing)

    def describe(self) -> dict[str, Any]:
        return {"source": "negative"}


NEGATIVE = Condition("corruption/negative/1", "corruption", images=Negative())


@pytest.fixture(scope="module")
def model() -> Classifier:
    sizes = {"embed_dim": 16, "depth": DEPTH, "num_heads": 2, "num_classes": 5}
    network = build_model("deit", img_size=SIDE, patch_size=2, **sizes)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():  # attention of a fresh network is uniform, whatever it is shown
        for parameter in network.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return Classifier(network, PREPROCESSING, ModelRecord("small"))


@pytest.fixture(scope="module")
def data() -> Dataset:
    return noise(IMAGES, bad=[BAD])


def by_condition(shown: Iterator[Shown]) -> dict[str, dict[str, np.ndarray[Any, Any]]]:
    """Pixels by condition and image."""
    pixels: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
    for batch in shown:
        images = zip(batch.images, batch.pixels.numpy(), strict=True)
        pixels.setdefault(batch.under, {}).update(images)
    return pixels


@pytest.mark.slow
def test_adversarial_images_are_those_of_an_evaluation_bit_for_bit(
    model: Classifier, data: Dataset, tmp_path: Path
) -> None:
    kept = asdict(replace(OPTIONS, save_adversarial=IMAGES)) | {"shard": OPTIONS.shard}
    done = run(model, data, ATTACKED, tmp_path / "run", **kept)
    store = AdversarialStore(done.folder.path / "adversarial")
    shown = by_condition(shown_images("small", model, data, ATTACKED, OPTIONS))
    assert list(shown) == ["", *(condition.id for condition in ATTACKED)]
    for condition in ATTACKED:
        files = store.files(["small", "tiny", "pixel", condition.id])
        assert len(files) == IMAGES - 1
        for path in files.values():
            saved = read_adversarial(path)
            assert np.array_equal(shown[condition.id][saved.image], saved.x_adv)
            assert np.array_equal(shown[""][saved.image], saved.x)
    moved = shown["pgd@8/255"][data.ids[0]] - shown[""][data.ids[0]]
    assert np.abs(moved).max() == pytest.approx(8 / 255, rel=1e-4)


def test_images_of_a_source_are_shown_beside_the_clean_ones(
    model: Classifier, data: Dataset
) -> None:
    shown = list(shown_images("small", model, data, [NEGATIVE], OPTIONS))
    assert [batch.under for batch in shown] == ["", NEGATIVE.id] * 3
    pixels = by_condition(iter(shown))
    ids = [data.ids[index] for index in range(IMAGES) if index != BAD]
    assert list(pixels[""]) == ids
    assert list(pixels[NEGATIVE.id]) == ids[1:]
    for image in ids[1:]:
        assert pixels[NEGATIVE.id][image] == pytest.approx(1 - pixels[""][image], abs=1e-6)
    assert dict(shown[1].left_out) == {ids[0]: "there is no negative of it"}


def measured(
    model: Classifier, data: Dataset, conditions: Sequence[Condition]
) -> dict[str, Measured]:
    return measure_images(
        "small", model, data, {"attention": attention()}, OPTIONS, conditions=conditions
    )


def test_layers_are_looked_at_in_passes_of_their_own(model: Classifier, data: Dataset) -> None:
    """An attack's passes are many, and follow gradients."""
    looked: list[bool] = []

    def rows(seen: LayerTensor) -> Rows:
        looked.append(torch.is_inference_mode_enabled())
        yield (str(seen.layer),), {"number": seen.values.mean((1, 2, 3))}

    measures = {"looks": Measure(("weights",), ("layer",), rows)}
    done = measure_images(
        "small", model, data, measures, OPTIONS, conditions=[*ATTACKED[-1:], NEGATIVE]
    )
    batches = 3
    assert len(looked) == DEPTH * batches * 3
    assert all(looked)
    counts = {under: len(numbers.tables["looks"]) for under, numbers in done.items()}
    assert counts == {
        "": DEPTH * (IMAGES - 1),
        "pgd@8/255": DEPTH * (IMAGES - 1),
        NEGATIVE.id: DEPTH * (IMAGES - 2),
    }


def test_numbers_of_an_attack_are_flagged_with_its_constants(
    model: Classifier, data: Dataset
) -> None:
    done = measured(model, data, [ATTACKED[-1]])
    assert not done[""].flags
    assert "steps=3" in done["pgd@8/255"].flags
    clean, attacked = (
        done[under].tables["attention"]["row_entropy"] for under in ("", "pgd@8/255")
    )
    assert not np.allclose(clean, attacked)


def broken(*, always: bool) -> Condition:
    """FGSM that fails in the second batch of images, or in all."""
    fgsm = ATTACKS["fgsm"].condition(Fraction(4, 255))

    def sweep(batch: Any, budgets: Any, **how: Any) -> Any:
        if always or "image3.png" in batch.images:
            raise ZeroDivisionError("no luck")
        assert fgsm.sweep is not None
        yield from fgsm.sweep(batch, budgets, **how)

    return replace(fgsm, sweep=sweep)


def test_images_that_an_attack_failed_on_are_left_out(model: Classifier, data: Dataset) -> None:
    done = measured(model, data, [broken(always=False)])["fgsm@4/255"]
    assert list(done.left_out) == ["image3.png", "image4.png", "image5.png"]
    assert all("no luck" in why for why in done.left_out.values())
    assert set(done.tables["attention"]["image"]) == {"image0.png", "image1.png", "image6.png"}


def test_an_attack_that_always_fails_ends_the_analysis(model: Classifier, data: Dataset) -> None:
    with pytest.raises(UserError, match=r"small under fgsm@4/255: no image .*: .*no luck"):
        measured(model, data, [broken(always=True)])
