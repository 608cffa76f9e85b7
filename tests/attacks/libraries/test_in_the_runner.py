"""Every library's attack through the runner: scored, or an error row, never nonsense."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attacks import find_attack
from robustbench_twicing.conditions.condition import clean
from tests import tiny

from .fragile import BLACK_BOX, BUDGET, EVERY, ShortAutoAttack, batch, classifier, images, small

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("protocol", EVERY)]

DIVIDES_BY_THE_GRADIENT = {
    "torchattacks:NIFGSM",
    "torchattacks:SINIFGSM",
    "torchattacks:VNIFGSM",
    "foolbox:NewtonFoolAttack",
}
"""0 / 0 where the gradient is zero: they make images of NaN, which are error rows."""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyautoattack.AutoAttack", ShortAutoAttack)


def of_runner(
    network: nn.Module | None, protocol: str, out: Path, share: float = 1
) -> Mapping[str, Any]:
    """Rows of results.csv by attack, all of a protocol on five images in batches of three.

    The budget is this share of `BUDGET`.
    """
    model = classifier(network)
    arrays = (images() * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
    labels = batch(model, wrong=()).y.tolist()
    eps = BUDGET[protocol] * Fraction(share)
    asked = [find_attack(name).condition(eps, protocol, small(name)) for name in EVERY[protocol]]
    done = tiny.run(
        model, tiny.dataset(arrays, labels), [clean(protocol), *asked], out / "run", batch_size=3
    )
    messages = done.records().groupby("condition")["message"].first()
    rows = tiny.table(done)
    assert rows.pop("clean")["top1"] == 100
    return {key.split("@")[0]: row | {"message": messages[key]} for key, row in rows.items()}


def test_the_runner_scores_all_of_them(protocol: str, tmp_path: Path) -> None:
    rows = of_runner(None, protocol, tmp_path)
    assert list(rows) == EVERY[protocol]
    assert {name: row["status"] for name, row in rows.items() if row["status"] != "ok"} == {}
    column, most = ("linf_255_max", 8.001) if protocol == "pixel" else ("l2_max", 1.5002)
    assert all(0 <= row[column] <= most for row in rows.values())
    broken = {name for name, row in rows.items() if row["robust_top1"] == 0}
    assert len(broken) > len(rows) / 2


class Poisoned(nn.Module):
    """Answers with NaN once any pixel is moved off the 256 levels."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = classifier()

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        off = ((x * 255).round() / 255 - x).abs().amax((1, 2, 3)) > 1e-6
        return torch.where(off[:, None], float("nan"), self.inner(x))


def test_logits_that_are_no_numbers_are_never_scored(protocol: str, tmp_path: Path) -> None:
    """Some compare with NaN and give back the clean image: that is no robust image."""
    rows = of_runner(Poisoned(), protocol, tmp_path, share=1 / 16)
    assert {name: row["status"] for name, row in rows.items() if row["status"] != "error"} == {}
    assert all(row["top1"] != row["top1"] for row in rows.values())
    last = {"pixel": "torchattacks:PGDRS", "l2": "torchattacks:PGDRSL2"}[protocol]
    for name in ("torchattacks:FAB", "torchattacks:Square", last):
        assert "met logits that are not finite" in rows[name]["message"]


class NoGradient(nn.Module):
    """Right answers with a gradient that is no number anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = classifier()

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        logits: Tensor = self.inner(x) + (0 * x).sqrt().sum((1, 2, 3))[:, None]
        return logits


def test_a_gradient_that_is_no_number_is_never_followed(protocol: str, tmp_path: Path) -> None:
    rows = of_runner(NoGradient(), protocol, tmp_path)
    assert {name for name, row in rows.items() if row["status"] == "ok"} == BLACK_BOX & set(rows)
    for name in set(rows) - BLACK_BOX:
        assert "gradient that is not a number" in rows[name]["message"], name


class Rounding(nn.Module):
    """Rounds its input to 8 bits: the gradient is zero everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = classifier()

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        logits: Tensor = self.inner((x * 255).round() / 255)
        return logits


def test_a_zero_gradient_is_flagged_or_an_error(protocol: str, tmp_path: Path) -> None:
    rows = of_runner(Rounding(), protocol, tmp_path, share=4)
    failed = {name for name, row in rows.items() if row["status"] != "ok"}
    assert failed == DIVIDES_BY_THE_GRADIENT & set(rows)
    for name in set(rows) - failed:
        flagged = "zero-gradient-100%" in rows[name]["flags"].split(";")
        assert flagged == (name not in BLACK_BOX), name
    assert rows["autoattack"]["robust_top1"] < 50  # by the Square attack, with few queries
