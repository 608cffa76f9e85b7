"""A broken attack is an error row, never a robust image, and never the end of the run."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.evaluation.attack_step import TOO_FEW
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import (
    PREPROCESSING,
    ConvNet,
    column,
    convnet,
    noise,
    quick_conditions,
    run,
    table,
    text,
)

pytestmark = pytest.mark.slow

EPS = 4 / 255


def raises(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    raise ZeroDivisionError("no luck")


def wrong_shape_for_the_model(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    logits: Tensor = model(x.flatten(1))
    return logits


def in_place(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return x.add_(EPS / 2).clamp_(0, 1)


def behind_the_back(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x_adv = x.clone()
    x.zero_()
    return x_adv


def in_place_and_raises(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    in_place(model, x, y)
    raise ZeroDivisionError("no luck")


def images_and_labels(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    y.zero_()
    return behind_the_back(model, x, y)


def labels_and_network(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    y.zero_()
    next(model.parameters()).zero_()
    return x


def because_of_itself(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    try:
        return raises(model, x, y)
    except ZeroDivisionError as error:
        raise error from error  # a circle


class Speechless(RuntimeError):
    """An error that fails to say what it is."""

    def __str__(self) -> str:
        raise NotImplementedError


def speechless(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    raise Speechless


def name_of_a_file(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    raise FileNotFoundError(os.fsdecode(b"photo\xff.png"))


def all_pixels(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    raise ValueError(x.tolist())


def one_pixel(value: float) -> Callable[..., Tensor]:
    def attack(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        x_adv = x.clone()
        x_adv[-1, 0, 0, 0] = value
        return x_adv

    return attack


def leaves_python(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    sys.exit("bye")


BROKEN: dict[str, tuple[Any, str]] = {
    "leaves-python": (leaves_python, "SystemExit: bye"),
    "raises": (raises, "ZeroDivisionError: no luck"),
    "model-refuses": (wrong_shape_for_the_model, "Error: "),
    "in-place": (in_place, "changed the clean images in place"),
    "behind-the-back": (behind_the_back, "changed the clean images in place"),
    "in-place-and-raises": (in_place_and_raises, "ZeroDivisionError: no luck"),
    "images-and-labels": (images_and_labels, "the clean images in place and the clean labels in"),
    "labels-and-network": (labels_and_network, "changed network.first.weight"),
    "because-of-itself": (because_of_itself, "ZeroDivisionError: no luck"),
    "speechless": (speechless, "Speechless: no message, since __str__ raises NotImpl"),
    "name-of-a-file": (name_of_a_file, r"FileNotFoundError: photo\\udcff\.png"),
    "all-pixels": (all_pixels, r"^ValueError: \[\[.+ \.\.\. .+_attacks.py:\d+\)$"),
    "nan": (
        one_pixel(float("nan")),
        r"^returned .* not finite .* in 1 of 3 images, first image[25].png",
    ),
    "infinite": (one_pixel(float("inf")), "not finite"),
    "invalid": (one_pixel(-0.001), "^left "),
    "too-far": (lambda m, x, y: (x + 1.1 * EPS).clamp(0, 1), "left its ball of 4/255 by 0.4/255"),
    "wrong-shape": (lambda m, x, y: x[:, :, 1:], r"returned \(3, 3, 7, 8\)"),
    "too-few": (lambda m, x, y: x[1:], r"returned \(2, 3, 8, 8\)"),
    "double": (lambda m, x, y: x.double(), r"torch\.float64"),
    "nothing": (lambda m, x, y: None, "Error: "),
}


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run without any broken attack."""
    out = tmp_path_factory.mktemp("without") / "run"
    conditions = quick_conditions("clean", "fgsm", "pgd")
    return run(convnet(), noise(7), conditions, out, batch_size=3)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_attack_is_an_error_row_and_others_are_as_without_it(
    kind: str, without: Run, tmp_path: Path
) -> None:
    attack, message = BROKEN[kind]

    def called(model: nn.Module, x: Tensor, y: Tensor, *, generator: Any) -> Any:
        return attack(model, x, y)

    names = {each.id: each for each in quick_conditions("clean", "fgsm", "pgd")}
    first, *others = names.items()
    conditions: dict[str, Any] = {**dict([first]), "broken@4/255": called, **dict(others)}
    done = evaluate(convnet(), noise(7), conditions, out=tmp_path / "run", batch_size=3)
    records = done.records()
    errors = records[records["condition"] == "broken@4/255"]
    assert set(errors["status"][:3]) == {"error"}
    assert errors["message"].iloc[:3].str.contains(message, regex=True).all(), errors["message"]
    assert errors["rank"][errors["status"] == "error"].isna().all()
    row = table(done)["broken@4/255"]
    assert row["status"] == "error"
    for name in ("top1", "top5", "top1_ci_low", "top1_ci_high", "robust_top1", "linf_255_max"):
        assert row[name] != row[name], f"{name} is not empty"
    assert text(records, without="broken@4/255") == text(without.records())


def test_one_bad_batch_spoils_the_condition_not_just_its_images(tmp_path: Path) -> None:
    calls = []

    def sometimes(model: nn.Module, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError
        return x

    done = evaluate(
        convnet(), noise(7), {"it@4/255": sometimes}, out=tmp_path / "run", batch_size=3
    )
    assert done.records()["status"].tolist() == ["ok"] * 3 + ["error"] * 3 + ["ok"]
    assert column(done, "status") == ["error"]
    assert column(done, "n_images") == [4]
    assert table(done)["it@4/255"]["top1"] != table(done)["it@4/255"]["top1"]


@pytest.mark.parametrize("change", [1e-7, 1e-3])
def test_an_attack_that_moves_at_no_budget_is_broken(change: float, tmp_path: Path) -> None:
    def moving(model: nn.Module, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        return (x * (1 - change)).clamp(0, 1)

    done = evaluate(convnet(), noise(3), {"it@0": moving}, out=tmp_path / "run")
    assert column(done, "condition") == ["it@0/255"]
    assert column(done, "status") == ["error"]
    assert "changed the image at a budget of 0" in done.records()["message"][0]


class Poisoned(nn.Module):
    """A network whose logits are no numbers once a pixel is moved off the grey levels."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        off = ((x * 255).round() / 255 - x).abs().amax((1, 2, 3)) > 1e-6
        logits = torch.stack([x.mean((1, 2, 3)), 1 - x.mean((1, 2, 3))], 1)
        return torch.where(off[:, None], float("nan"), logits)


def test_logits_that_are_no_numbers_under_attack_are_an_error_row(tmp_path: Path) -> None:
    model = Classifier(Poisoned(), PREPROCESSING, ModelRecord("poisoned"), normalize=False)
    budgets = [Fraction(1, 510), Fraction(4, 255)]
    conditions = quick_conditions("clean", "fgsm", "pgd", budgets=budgets)
    rows = table(run(model, noise(4, classes=2), conditions, tmp_path / "run"))
    status = {name: row["status"] for name, row in rows.items()}
    assert status == {
        "clean": "ok",
        "fgsm@0.5/255": "error",
        "fgsm@4/255": "ok",
        "pgd@0.5/255": "error",
        "pgd@4/255": "error",
    }


def sweep_of(attack: Callable[[Tensor, int], Tensor]) -> Any:
    def sweep(batch: AttackBatch, budgets: Sequence[Fraction], **_: Any) -> Iterator[Tensor]:
        for number, _eps in enumerate(budgets):
            yield attack(batch.x, number)

    return sweep


def stops_early(batch: AttackBatch, budgets: Sequence[Fraction], **_: Any) -> Iterator[Tensor]:
    yield batch.x


def fails_at_once(batch: AttackBatch, budgets: Sequence[Fraction], **_: Any) -> Iterator[Tensor]:
    raise ZeroDivisionError("no luck")


def leaves_second(x: Tensor, number: int) -> Tensor:
    return x + 1 if number == 1 else x


def fails_second(batch: AttackBatch, budgets: Sequence[Fraction], **_: Any) -> Iterator[Tensor]:
    for eps in budgets:
        yield batch.x.view(7, -1) if eps == Fraction(2, 255) else batch.x


@pytest.mark.parametrize(
    ("sweep", "status"),
    [
        (stops_early, ["ok", "error", "error"]),
        (fails_at_once, ["error", "error", "error"]),
        (sweep_of(leaves_second), ["ok", "error", "ok"]),
        (fails_second, ["ok", "error", "ok"]),
    ],
)
def test_a_budget_that_fails_does_not_end_the_sweep(
    sweep: Any, status: list[str], tmp_path: Path
) -> None:
    conditions = [Condition(f"it@{n}/255", "it", Fraction(n, 255), sweep=sweep) for n in (1, 2, 3)]
    done = run(convnet(), noise(3), [*conditions, clean()], tmp_path / "run")
    assert column(done, "status") == [*status, "ok"]
    last = done.records()["message"].iloc[2]
    if sweep is stops_early:
        assert last == TOO_FEW
    elif sweep is fails_at_once:
        assert last.startswith("ZeroDivisionError: no luck (test_runner_broken_attacks.py:")


def test_the_failure_is_logged_and_its_place_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def attack(model: nn.Module, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        return raises(model, x, y)

    with caplog.at_level(logging.WARNING):
        done = evaluate(convnet(), noise(1), {"it@4/255": attack}, out=tmp_path / "run")
    (record,) = caplog.records
    assert record.getMessage() == "it@4/255 failed: no luck"
    line = raises.__code__.co_firstlineno + 1
    assert done.records()["message"][0] == (
        f"ZeroDivisionError: no luck (test_runner_broken_attacks.py:{line})"
    )


@pytest.mark.parametrize("copied", [True, False])
def test_adversarial_images_with_a_graph_are_scored(copied: bool, tmp_path: Path) -> None:
    def attack(model: nn.Module, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        return ((x.clone() if copied else x).requires_grad_() * 0.999).clamp(0, 1)

    done = evaluate(convnet(), noise(3), {"it@4/255": attack}, out=tmp_path / "run")
    assert column(done, "status") == ["ok"]


class Own(Tensor):
    """A type of a network's own."""


class Scaled(ConvNet):
    """Logits have the type of a buffer."""

    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(1).as_subclass(Own))

    def forward(self, x: Tensor) -> Tensor:
        """Network input to logits."""
        logits: Tensor = super().forward(x) * self.scale
        return logits


def test_logits_of_a_type_of_the_networks_own_are_attacked_as_others(
    without: Run, tmp_path: Path
) -> None:
    model = Classifier(Scaled(), PREPROCESSING, ModelRecord("convnet"))
    conditions = quick_conditions("clean", "fgsm", "pgd")
    done = run(model, noise(7), conditions, tmp_path / "run", batch_size=3)
    assert text(done.records()) == text(without.records())


def test_a_condition_of_another_protocol_is_checked_in_its_own_space(tmp_path: Path) -> None:
    """A step of eps in pixels is outside the normalised ball of eps, whose stds are below 1."""
    (paper,) = (
        replace(each, protocol="paper", sweep=sweep_of(lambda x, number: x + EPS))
        for each in quick_conditions("fgsm")
    )
    paper = replace(paper, threat=PROTOCOLS["paper"].threat)
    done = run(convnet(), noise(3), [paper], tmp_path / "run")
    assert column(done, "status") == ["error"]
