"""The worst case of DeiT-tiny on photographs is the one that was worked out without this code."""

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
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
    """At 0.25 no attack alone breaks an image, so that APGD changes nothing."""
    (position,) = [
        position
        for position, entry in enumerate(runs.entries)
        if entry.condition.is_worst and entry.condition.eps == Fraction(budget) / 255
    ]
    right = "".join(map(str, (runs.of(position)["rank"] == 0).astype(int)))
    assert right == golden[budget]["bits"][:PHOTOGRAPHS]


@pytest.mark.skipif(PHOTOGRAPHS < ALL, reason="counts over all photographs: make golden")
@pytest.mark.parametrize("budget", BUDGETS)
def test_as_many_stay_right_under_each_attack(
    budget: str, runs: Runs, golden: dict[str, Any]
) -> None:
    table: pd.DataFrame = results(runs).set_index("condition")
    counts = {**golden[budget]["per_attack_right"], "worst": golden[budget]["worst_same_budget"]}
    names = [f"{attack}@{budget}/255" for attack in counts]
    assert table.loc[names, "top1"].tolist() == [100 * count / ALL for count in counts.values()]


@pytest.mark.skipif(PHOTOGRAPHS < ALL, reason="counts over all photographs: make golden")
def test_no_attack_alone_breaks_an_image_at_the_smallest_budget(runs: Runs) -> None:
    first = next(n for n, entry in enumerate(runs.entries) if entry.condition.is_worst)
    assert broken_alone(runs, [first]) == [{"fgsm": 0, "pgd": 0, "apgd": 0}]
