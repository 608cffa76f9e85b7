"""Curves from distances that are known."""

from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attacks import ATTACKS
from reports import Runs, merge, results
from reports.metrics.radii import (
    RadiusCurve,
    curve_points,
    radius_curves,
    radius_summaries,
    save_radii,
)
from reports.statistics.intervals import median_interval, wilson, wilson_band
from reports.tables.presets import preset_tables
from robustbench_twicing.conditions.condition import clean
from tests.tiny import greys, halfspace, run

LEVELS, LABELS = [0, 100, 120, 126, 130, 140, 200], [0, 0, 0, 0, 1, 1, 0]
DISTANCES = [abs(level - 127.5) for level in LEVELS[:-1]] + [0.0]
"""Of a half space, in 255ths; the last image is wrong already."""
BUDGETS = [Fraction(2, 255), Fraction(10, 255)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    attacked = [ATTACKS["fgsm"].condition(eps) for eps in BUDGETS]
    conditions = [clean(), *attacked, ATTACKS["fmn"].condition()]
    out = tmp_path_factory.mktemp("runs") / "run"
    return merge([run(halfspace(), greys(LEVELS, LABELS), conditions, out).folder])


@pytest.fixture(scope="module")
def table(runs: Runs) -> pd.DataFrame:
    return results(runs)


@pytest.fixture(scope="module")
def curves(runs: Runs, table: pd.DataFrame) -> dict[str, RadiusCurve]:
    return {curve.source: curve for curve in radius_curves(runs, table)}


def test_fmn_finds_the_distances_of_a_half_space(curves: dict[str, RadiusCurve]) -> None:
    assert curves["fmn"].radii == pytest.approx(sorted(DISTANCES), rel=1e-3)


def test_the_record_radius_is_the_smallest_budget_that_broke_the_image(
    curves: dict[str, RadiusCurve],
) -> None:
    """FGM uses its whole budget here; two images are farther than the largest."""
    broken = [next((eps for eps in (2, 10) if eps > d), np.inf) if d else 0 for d in DISTANCES]
    assert curves["record"].radii == pytest.approx(sorted(broken))
    assert curves["best"].radii == pytest.approx(curves["fmn"].radii)


def test_at_a_budget_as_many_are_right_as_under_the_strongest_attack(
    curves: dict[str, RadiusCurve], table: pd.DataFrame
) -> None:
    percent = dict(zip(table["condition"], table["robust_top1"].astype(float), strict=True))
    for eps in (2, 10):
        right = percent[f"fgsm@{eps}/255"] * len(LEVELS) / 100
        (counted,) = curves["record"].right(np.array([float(eps)]))
        assert counted == pytest.approx(right)
        assert curves["best"].right(np.array([float(eps)]))[0] <= counted


def test_an_attack_that_finds_distances_has_no_accuracy_and_no_budget(
    runs: Runs, table: pd.DataFrame
) -> None:
    row = table.set_index("condition").loc["radius/fmn"]
    for name in ("top1", "top5", "robust_top1", "top1_ci_low", "eps", "eps_255"):
        assert pd.isna(row[name])
    assert (row["status"], row["steps"], row["n_attacked"]) == ("ok", 100, len(LEVELS))
    assert row["linf_255_max"] == pytest.approx(max(DISTANCES), rel=1e-3)
    radii = runs.query("SELECT radius FROM records WHERE condition = 'radius/fmn'")["radius"]
    assert np.isfinite(radii).all()
    assert runs.query("SELECT count(radius) AS n FROM records")["n"].tolist() == [len(LEVELS)]


def test_a_search_that_misses_what_a_sweep_finds_is_flagged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(import_module("attacks.fmn"), "fmn", lambda model, x, *_, **__: x)
    conditions = [clean(), ATTACKS["fgsm"].condition(BUDGETS[1]), ATTACKS["fmn"].condition()]
    done = run(halfspace(), greys(LEVELS, LABELS), conditions, tmp_path / "run")
    broken = sum(0 < distance < 10 for distance in DISTANCES)
    flags = results(done.folder)["flags"].tolist()
    assert f"radius-above-sweep-{broken}" in flags[2].split(";")
    assert "radius-above-sweep" not in flags[1]


def curve(radii: list[float], reach: float = 4.0) -> RadiusCurve:
    return RadiusCurve("m", "d", "pixel", "linf", "fmn", np.array(radii), reach)


def test_a_curve_counts_the_radii_above_each_budget() -> None:
    points = curve_points([curve([0, 0, 1, 1, 3, np.inf])])
    assert points["eps"].tolist() == [0, 1, 3]
    assert points["n_right"].tolist() == [4, 2, 1]
    bounds = [(100 * low, 100 * high) for low, high in (wilson(right, 6) for right in (4, 2, 1))]
    assert points["top1_ci_low"].tolist() == pytest.approx([low for low, _ in bounds])
    assert points["top1_ci_high"].tolist() == pytest.approx([high for _, high in bounds])


def test_the_area_is_that_of_the_staircase() -> None:
    radii = [0, 0, 1, 1, 3, np.inf]
    exact = (1 * 4 + 2 * 2 + 1 * 1) / 6 / 4
    assert curve(radii).area == pytest.approx(exact)


def test_a_search_that_finds_nothing_leaves_every_right_image_right() -> None:
    """There is no range of budgets then: no example has a distance, and none was asked for."""
    assert curve([0, np.inf, np.inf, np.inf], reach=0.0).area == 0.75


def test_medians_are_over_all_images_and_over_those_that_are_right() -> None:
    (row,) = radius_summaries([curve([0, 0, 1, 2, 3, np.inf])]).to_dict("records")
    assert (row["median"], row["median_right"]) == (1.5, 2.5)
    assert (row["n_right"], row["n_unknown"]) == (4, 1)
    (row,) = radius_summaries([curve([0, np.inf, np.inf])]).to_dict("records")
    assert row["median"] == np.inf


def test_the_interval_of_a_median_covers_95_of_100() -> None:
    """Ranks from the binomial distribution: of 20 values the 6th and the 15th."""
    assert median_interval(np.arange(1.0, 21.0)) == (6, 15)
    assert median_interval(np.arange(1.0, 6.0)) == (0, np.inf)


@pytest.mark.parametrize("trials", [1, 20, 1000])
def test_a_band_is_made_of_wilson_intervals(trials: int) -> None:
    successes = np.unique(np.linspace(0, trials, 7).astype(int))
    low, high = wilson_band(successes, trials)
    for hits, bounds in zip(successes, zip(low, high, strict=True), strict=True):
        assert bounds == pytest.approx(wilson(int(hits), trials), abs=1e-12)


def test_files_and_preset_say_the_same(runs: Runs, table: pd.DataFrame, tmp_path: Path) -> None:
    curves = radius_curves(runs, table)
    paths = save_radii(curves, tmp_path)
    assert [path.name for path in paths] == ["curves.csv", "radii.csv"]
    saved = pd.read_csv(tmp_path / "radii.csv").set_index("source")
    for sheet in preset_tables("radii", runs, table):
        source = sheet.name.split("-")[1]
        area = sheet.frame.iat[0, [column.name for column in sheet.columns].index("area 0-10")]
        assert area == pytest.approx(saved.loc[source, "area"])


def test_without_attacks_there_are_no_curves(runs: Runs, table: pd.DataFrame) -> None:
    alone = table[table["attack"] == "clean"]
    assert radius_curves(runs, alone) == []
