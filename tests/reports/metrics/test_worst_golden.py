"""The worst case of DeiT-tiny on photographs is the one that was worked out without this code."""

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacks import find_attack
from reports import Runs, merge, results, with_worst
from reports.metrics.broken_alone import broken_alone
from robustbench_twicing import load_model
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.opening import open_dataset
from tests.tiny import run

PHOTOGRAPHS = int(os.environ.get("GOLDEN", "4"))
"""Four, and the cheaper attacks, in the tests; all twenty in `make golden`."""
ALL = 20
APGD: dict[str, Any] = {"steps": 20}
BUDGETS = ("0.25", "0.5", "1") if PHOTOGRAPHS == ALL else ("0.25",)
"""In 255ths."""
UNDECIDED = 0
"""Image that 20 steps of APGD break at 0.25/255 from some random starts: torchattacks leaves it
right with seeds 0, 1 and 3, and breaks it with seed 2. At larger budgets PGD breaks it."""
pytestmark = [pytest.mark.slow, pytest.mark.golden]


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    """By budget; the attacks are FGSM, PGD without a random start and, at 0.25, APGD."""
    values: dict[str, Any] = json.loads((shared / "golden" / "threats.json").read_text())["worst"]
    return values


@pytest.fixture(scope="module")
def runs(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The first photographs under these attacks, and the worst case."""
    data = shared / "data"
    model = load_model(
        "deit_tiny_patch16_224", checkpoint=data / "deit_tiny_patch16_224.safetensors"
    )
    attacked = [
        find_attack(name).condition(Fraction(budget) / 255)
        for name in ("fgsm", "pgd")
        for budget in BUDGETS
    ]
    if PHOTOGRAPHS == ALL:
        attacked.append(find_attack("apgd").condition(Fraction(1, 1020), "pixel", APGD))
    photographs = open_dataset(data / "imagenet-val-100").select(range(PHOTOGRAPHS))
    done = run(model, photographs, [clean(), *attacked], tmp_path_factory.mktemp("worst"))
    return with_worst(merge([done.folder]))


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_same_images_stay_right(budget: str, runs: Runs, golden: dict[str, Any]) -> None:
    """Exactly, but for the image whose fate under APGD is that of its random start."""
    (position,) = [
        position
        for position, entry in enumerate(runs.entries)
        if entry.condition.is_worst and entry.condition.eps == Fraction(budget) / 255
    ]
    right = list(map(str, (runs.of(position)["rank"] == 0).astype(int)))
    wanted = list(golden[budget]["bits"][:PHOTOGRAPHS])
    if "apgd" in runs.attacks and right[UNDECIDED] == "0":
        wanted[UNDECIDED] = "0"
    assert right == wanted


@pytest.mark.skipif(PHOTOGRAPHS < ALL, reason="counts over all photographs: make golden")
@pytest.mark.parametrize("budget", BUDGETS)
def test_as_many_stay_right_under_each_attack(
    budget: str, runs: Runs, golden: dict[str, Any]
) -> None:
    table = results(runs)
    top1 = dict(zip(table["condition"], map(float, table["top1"]), strict=True))
    counts = {**golden[budget]["per_attack_right"], "worst": golden[budget]["worst_same_budget"]}
    for attack, count in counts.items():
        of_undecided = budget == "0.25" and attack in ("apgd", "worst")
        right = round(ALL * top1[f"{attack}@{budget}/255"] / 100)
        assert count - of_undecided <= right <= count, attack


@pytest.mark.skipif(PHOTOGRAPHS < ALL, reason="counts over all photographs: make golden")
def test_no_attack_alone_breaks_an_image_at_the_smallest_budget(runs: Runs) -> None:
    first = next(n for n, entry in enumerate(runs.entries) if entry.condition.is_worst)
    (alone,) = broken_alone(runs, [first])
    assert alone.pop("apgd") <= 1  # the undecided image
    assert alone == {"fgsm": 0, "pgd": 0}
