"""Own attacks agree with the libraries', and broken ones do not."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attacks.verification import Agreement, Setting, verify
from attacks.verification.paper import SPSA_SAMPLES, SPSA_STEPS
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.threat_model import ThreatModel
from tests.tiny import convnet, halfspace

pytestmark = pytest.mark.slow

fgsm, pgd = (import_module(f"attacks.{name}") for name in ("fgsm", "pgd"))
agreement, linear, minimum, paper = (
    import_module(f"attacks.verification.{name}")
    for name in ("agreement", "linear", "minimum", "paper")
)
ROWS = [
    ("fgsm, pixel", "torchattacks.FGSM"),
    ("fgsm, pixel", "foolbox.LinfFastGradientAttack"),
    ("pgd, pixel", "torchattacks.PGD"),
    ("pgd, pixel", "foolbox.LinfPGD"),
    ("fgsm, paper", "cleverhans.fast_gradient_method"),
    ("pgd, paper", "cleverhans.projected_gradient_descent"),
    ("spsa, paper", "cleverhans.spsa"),
    ("spsa gradient", "exact, linear model"),
    ("fmn, pixel", "foolbox.LInfFMNAttack"),
]
BY_PIXELS = ROWS[:-2]
"""Others are compared by an angle or a distance, which the remark says."""
needs_cleverhans = pytest.mark.skipif(
    paper.find_spec("cleverhans") is None, reason="cleverhans is not installed"
)


def setting(model: Classifier | None = None, eps: float = 4 / 255, seed: int = 0) -> Setting:
    """Four images with labels that are not the model's answers; black and white pixels in them."""
    model = model or convnet()
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 256, (4, 3, 8, 8), generator=generator) / 255
    x[0, 0, 0] = 0
    x[0, 0, 1] = 1
    classes = model(x).shape[1]
    return Setting(model, x, (model(x).argmax(1) + 1) % classes, eps, seed)


def rows(made: Setting | None = None) -> dict[tuple[str, str], Agreement]:
    return {(row.attack, row.reference): row for row in verify(made or setting())}


@needs_cleverhans
@pytest.mark.parametrize("eps", [0.0, 1 / 255, 16 / 255])
def test_all_agree(eps: float) -> None:
    found = rows(setting(eps=eps))
    assert list(found) == ROWS
    assert [key for key, row in found.items() if not row.agrees] == []
    for key in BY_PIXELS:
        assert found[key].differing == 0, key
        assert found[key].remark == ""


@needs_cleverhans
def test_spsa_agrees_to_the_last_digits_of_float64() -> None:
    largest = rows()["spsa, paper", "cleverhans.spsa"].largest
    assert largest is not None
    assert largest < 1e-9


@needs_cleverhans
def test_another_seed_and_a_subset_of_classes_agree_too() -> None:
    model = convnet()
    subset = Classifier(
        model.network, model.preprocessing, replace(model.record), classes=(4, 1, 2)
    )
    assert all(row.agrees for row in rows(setting(subset, seed=5)).values())


@needs_cleverhans
def test_the_model_and_the_global_stream_are_left_alone() -> None:
    made = setting()
    state = {key: tensor.clone() for key, tensor in made.model.state_dict().items()}
    before = torch.get_rng_state()
    rows(made)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(each, state[key]) for key, each in made.model.state_dict().items())
    assert not made.model._forward_pre_hooks
    assert all(each.grad is None for each in made.model.parameters())


def test_a_model_that_takes_pixels_cannot_follow_protocol_paper() -> None:
    found = rows(setting(halfspace()))
    assert list(found) == ROWS
    for key in ROWS:
        skipped = key in ROWS[4:7]
        assert found[key].agrees is (None if skipped else True)
        assert found[key].remark == "the model takes pixels" or not skipped


def test_without_cleverhans_its_rows_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "find_spec", lambda name: None)
    found = rows()
    assert list(found) == ROWS
    for key in ROWS[4:7]:
        assert found[key] == (*key, None, None, None, "cleverhans is not installed")


Patch = Callable[[pytest.MonkeyPatch], None]


def short_fgsm(patch: pytest.MonkeyPatch) -> None:
    whole = fgsm.step
    patch.setattr(fgsm, "step", lambda x, g, eps, *rest: whole(x, g, 0.9 * eps, *rest))


def fgsm_downhill(patch: pytest.MonkeyPatch) -> None:
    whole = fgsm.step
    patch.setattr(fgsm, "step", lambda x, g, *rest: whole(x, -g, *rest))


def free_fgsm(patch: pytest.MonkeyPatch) -> None:
    def step(x: Tensor, gradient: Tensor, eps: float, threat: ThreatModel, std: Any) -> Any:
        return x + eps * fgsm.unit(x, threat, std) * gradient.sign()

    patch.setattr(fgsm, "step", step)


def long_steps(patch: pytest.MonkeyPatch) -> None:
    def climb(*args: Any, length: Tensor, steps: int) -> Any:
        return whole(*args, length=1.1 * length, steps=steps)

    whole = pgd.climb
    patch.setattr(pgd, "climb", climb)


def short_start(patch: pytest.MonkeyPatch) -> None:
    whole = pgd.start
    patch.setattr(pgd, "start", lambda model, x, eps, *rest: whole(model, x, 0.9 * eps, *rest))


def start_at_the_image(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pgd, "start", lambda model, x, *rest: x)


def free_steps(patch: pytest.MonkeyPatch) -> None:
    """No way back into the ball."""

    def climb(
        model: nn.Module, x: Tensor, target: Tensor, bounds: Any, *, length: Tensor, steps: int
    ) -> Any:
        free = (torch.full_like(x, -9), torch.full_like(x, 9))
        return whole(model, x, target, free, length=length, steps=steps)

    whole = pgd.climb
    patch.setattr(agreement, "climb", climb)


def true_label(patch: pytest.MonkeyPatch) -> None:
    for module in (pgd, agreement):
        patch.setattr(module, "attacked_label", lambda model, x, y, threat: y)


def correct_spsa(patch: pytest.MonkeyPatch) -> None:
    whole = paper.spsa
    patch.setattr(paper, "spsa", lambda *args, estimate_at, **rest: whole(*args, **rest))


def spsa_of_other_label(patch: pytest.MonkeyPatch) -> None:
    whole: Any = paper.spsa
    patch.setattr(
        paper,
        "spsa",
        lambda model, x, y, *, threat, **rest: whole(
            model, x, y, threat=replace(threat, label="true"), **rest
        ),
    )


def coarse_gradient(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(linear, "LINEAR_SAMPLES", 100)


def short_search(patch: pytest.MonkeyPatch) -> None:
    whole = minimum.fmn
    patch.setattr(minimum, "fmn", lambda model, x, y: whole(model, x, y, steps=2))


def downhill_gradient(patch: pytest.MonkeyPatch) -> None:
    whole = linear.spsa_gradient
    patch.setattr(linear, "spsa_gradient", lambda *args, **rest: -whole(*args, **rest))


@needs_cleverhans
@pytest.mark.parametrize(
    ("break_it", "differing"),
    [
        (short_fgsm, {0, 1, 4}),
        (fgsm_downhill, {0, 1, 4}),
        (free_fgsm, {0, 1}),
        (long_steps, {2, 3, 5}),
        (short_start, {2, 3, 5}),
        (start_at_the_image, {2, 3, 5}),
        (free_steps, {2, 3, 5}),
        (true_label, {5}),
        (correct_spsa, {6}),
        (spsa_of_other_label, {6}),
        (coarse_gradient, {7}),
        (downhill_gradient, {7}),
        (short_search, {8}),
    ],
    ids=lambda value: getattr(value, "__name__", "rows"),
)
def test_what_is_broken_disagrees(
    break_it: Patch, differing: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    found = rows()
    assert {ROWS.index(key) for key, row in found.items() if row.agrees is False} == differing
    assert all(row.agrees is not None for row in found.values())


def test_spsa_is_compared_over_several_steps_and_images() -> None:
    """One step would not tell the fault from the correct attack apart from the place."""
    assert SPSA_STEPS >= 3
    assert SPSA_SAMPLES >= 2
    assert paper.SPSA_IMAGES >= 2
