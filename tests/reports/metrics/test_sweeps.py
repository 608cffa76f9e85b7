"""Areas in closed form; breaking budgets of images that are written down."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import merge, results
from reports.metrics.sweeps import area_under_curve, breaking_budgets, budget_curves, budget_name
from tests.reports.made import Outcomes, write_run

OUTCOMES: Outcomes = {
    "pgd@4/255": [1, 2, 3, 1],
    "clean": [0, 0, 1, 0],
    "fgsm@1/255": [0, 1, 1, 0],
    "pgd@1/255": [1, 0, 1, 0],
    "pgd@2/255": [0, 0, 2, 0],
    "fgsm@4/255": [0, 1, 1, 0],
}
INFINITY = float("inf")


def test_the_area_in_closed_form() -> None:
    assert area_under_curve([0, 1, 3], [80, 40, 20]) == (60 * 1 + 30 * 2) / 3
    assert area_under_curve([0, 8], [70, 70]) == 70
    assert area_under_curve([0, 2], [100, 0]) == 50
    assert area_under_curve([0], [71.5]) == 71.5
    assert np.isnan(area_under_curve([], []))
    assert np.isnan(area_under_curve([0, 1, 2], [80, float("nan"), 20]))


@pytest.mark.slow
@given(st.lists(st.integers(1, 99), min_size=1, max_size=9, unique=True), st.floats(0, 100))
def test_a_level_curve_is_its_level_and_units_do_not_matter(steps: list[int], level: float) -> None:
    budgets = [0, *sorted(steps)]
    assert area_under_curve(budgets, [level] * len(budgets)) == pytest.approx(level)
    line = [level * eps / budgets[-1] for eps in budgets]
    assert area_under_curve(budgets, line) == pytest.approx(level / 2)
    assert area_under_curve([eps / 255 for eps in budgets], line) == pytest.approx(level / 2)


@pytest.mark.parametrize("budgets", [[1, 0], [0, 0], [0]])
def test_budgets_that_do_not_ascend_are_a_bug(budgets: list[float]) -> None:
    with pytest.raises(ValueError, match="must ascend"):
        area_under_curve(budgets, [1, 2])


@pytest.mark.slow
def test_curves_start_at_the_clean_images(tmp_path: Path) -> None:
    table = results(merge([write_run(tmp_path, {"a": OUTCOMES})]))
    curves = budget_curves(table)
    assert curves["attack"].tolist() == ["pgd"] * 4 + ["fgsm"] * 3
    assert curves["budget"].tolist() == [0, 1, 2, 4, 0, 1, 4]
    assert curves["top1"].tolist() == [75, 50, 75, 0, 75, 50, 50]
    assert table["condition"][curves["entry"]].tolist()[:2] == ["clean", "pgd@1/255"]


@pytest.mark.slow
def test_a_budget_0_of_its_own_takes_the_place_of_the_clean_images(tmp_path: Path) -> None:
    outcomes = {"clean": [0, 1], "pgd@0/255": [0, 1], "fgsm@1/255": [1, 1], "pgd@1/255": [1, 1]}
    table = results(merge([write_run(tmp_path, {"a": outcomes})]))
    curves = budget_curves(table)
    names = table["condition"][curves["entry"]].tolist()
    assert names == ["pgd@0/255", "pgd@1/255", "clean", "fgsm@1/255"]


@pytest.mark.slow
def test_protocols_and_labels_have_curves_of_their_own(tmp_path: Path) -> None:
    both = {"a": OUTCOMES, "b": OUTCOMES}
    folders = [write_run(tmp_path / name, both, protocol=name) for name in ("pixel", "paper")]
    curves = budget_curves(results(merge(folders)))
    sweeps = curves[["label", "protocol", "attack"]].drop_duplicates()
    assert len(sweeps) == 8
    assert (curves.groupby(["label", "protocol", "attack"])["budget"].min() == 0).all()


def test_without_clean_images_a_curve_starts_at_its_smallest_budget(tmp_path: Path) -> None:
    table = results(merge([write_run(tmp_path, {"a": {"pgd@1/255": [0], "pgd@2/255": [1]}})]))
    assert budget_curves(table)["budget"].tolist() == [1, 2]


@pytest.mark.slow
def test_no_sweep_is_an_empty_table(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path, {"a": {"clean": [0, 1]}})])
    assert len(budget_curves(results(runs))) == 0
    broken = breaking_budgets(runs, results(runs))
    assert broken.columns.tolist()[-1] == "breaking_eps_255"
    assert len(broken) == 0


@pytest.mark.slow
def test_the_smallest_breaking_budget_of_each_image(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path, {"a": OUTCOMES}, part_size=3)])
    broken = breaking_budgets(runs, results(runs))
    pgd = broken[broken["attack"] == "pgd"]
    assert pgd["image"].tolist() == ["0.png", "1.png", "2.png", "3.png"]
    assert pgd["target"].tolist() == [0, 1, 2, 3]
    # 0.png breaks at 1 and is right again at 2: the smallest counts.
    assert pgd["breaking_eps_255"].tolist() == [1, 4, 0, 4]
    fgsm = broken[broken["attack"] == "fgsm"]
    assert fgsm["breaking_eps_255"].tolist() == [INFINITY, 1, 0, INFINITY]


@pytest.mark.slow
def test_a_sweep_with_an_unscored_budget_has_no_breaking_budgets(tmp_path: Path) -> None:
    outcomes: Outcomes = {**OUTCOMES, "pgd@2/255": [0, 0, "error", 0]}
    runs = merge([write_run(tmp_path, {"a": outcomes})])
    assert breaking_budgets(runs, results(runs))["attack"].unique().tolist() == ["fgsm"]


@pytest.mark.slow
def test_skipped_images_break_nowhere(tmp_path: Path) -> None:
    outcomes: Outcomes = {"clean": ["skipped", 0], "pgd@1/255": ["skipped", 1]}
    runs = merge([write_run(tmp_path, {"a": outcomes})])
    broken = breaking_budgets(runs, results(runs))
    assert broken["image"].tolist() == ["1.png"]
    assert isinstance(broken, pd.DataFrame)


def test_budgets_of_other_norms_are_in_their_own_unit() -> None:
    """Beside those of L-infinity, and in curves of their own."""
    table = pd.DataFrame(
        {
            "label": "a",
            "dataset": "val",
            "protocol": ["pixel", "pixel", "l2", "l2", "l2", "patch", "patch"],
            "condition": [
                *("clean", "pgd@4/255", "clean", "pgd@l2:0.5", "pgd@l2:3"),
                *("clean", "patch@patch:32"),
            ],
            "attack": ["clean", "pgd", "clean", "pgd", "pgd", "clean", "patch"],
            "eps_255": [0.0, 4.0, None, None, None, None, None],
            "norm": ["linf", "linf", "l2", "l2", "l2", "patch", "patch"],
            "eps": [None, "4/255", None, "l2:0.5", "l2:3", None, "patch:32"],
            "status": "ok",
            "top1": [90.0, 50.0, 90.0, 40.0, 10.0, 90.0, 20.0],
            "top5": 100.0,
            "robust_top1": 0.0,
        }
    )
    curves = budget_curves(table)
    assert curves["protocol"].tolist() == ["pixel"] * 2 + ["l2"] * 3 + ["patch"] * 2
    assert curves["budget"].tolist() == [0, 4, 0, 0.5, 3, 0, 32]
    assert curves["entry"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    names = [budget_name(3, "l2"), budget_name(4, "pixel"), budget_name(32, "patch")]
    assert names == ["3", "4/255", "32x32 px"]
