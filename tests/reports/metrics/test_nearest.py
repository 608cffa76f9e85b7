"""The nearest adversarial examples agree with the worst case: their curve is nowhere above it."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks import ATTACKS
from reports import Runs, merge, results, with_worst
from reports.metrics.radii import BEST, RadiusCurve, radius_curves
from robustbench_twicing import load_model
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.conditions.threat_model import TOLERANCE
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.records.schema import RECORD_SCHEMA
from tests.reports.made import entry, runs_of
from tests.tiny import greys, halfspace, quick_conditions, run


def above_the_worst_case(runs: Runs) -> dict[str, tuple[float, float]]:
    """Percent right by `BEST` and in the worst case, where the first is larger, by condition."""
    with_rows = with_worst(runs)
    table = results(with_rows)
    curves = {
        (curve.label, curve.protocol): curve
        for curve in radius_curves(with_rows, table)
        if curve.source == BEST
    }
    above = {}
    for position, row in enumerate(table.to_dict("records")):
        condition = with_rows.entries[position].condition
        if condition.is_worst and row["status"] == "ok":
            curve = curves.get((row["label"], row["protocol"]))
            best = percent_right(curve, condition.eps) if curve else 0.0  # no attack is scored
            if best > row["top1"] + 1e-9:
                above[f"{condition.protocol}:{condition.id}"] = best, float(row["top1"])
    return above


def percent_right(curve: RadiusCurve, eps: Fraction) -> float:
    """At a budget in pixels."""
    budget = float(eps * 255 if curve.norm == "linf" else eps)
    return 100 * int(curve.right(np.array([budget]))[0]) / len(curve.radii)


@pytest.mark.slow
def test_on_photographs_the_best_curve_is_nowhere_above_the_worst_case(tmp_path: Path) -> None:
    budgets = [Fraction(n, 255) for n in (1, 4, 8)]
    conditions = [*quick_conditions("clean", "fgsm", "pgd", budgets=budgets)]
    conditions.append(ATTACKS["fmn"].condition(overrides={"steps": 10}))
    model = load_model("fmnist_deit", "bundled")
    data = open_dataset("fashion-mnist:test1000").select(range(10))
    runs = merge([run(model, data, conditions, tmp_path / "run").folder])
    assert above_the_worst_case(runs) == {}


def test_a_radius_that_exceeds_a_budget_by_rounding_counts_there(tmp_path: Path) -> None:
    """Images at exactly the budgets from the boundary, which FMN finds from outside."""
    budgets = [Fraction(2 * n + 1, 510) for n in range(4)]
    levels = [127 - n for n in range(4)]
    conditions = [clean(), *(ATTACKS["noise"].condition(eps) for eps in budgets)]
    conditions.append(ATTACKS["fmn"].condition())
    runs = merge([run(halfspace(), greys(levels, [0] * 4), conditions, tmp_path / "run").folder])
    rows = results(with_worst(runs)).set_index("condition")
    assert rows.loc["worst@0.5/255":, "top1"].tolist() == [75, 50, 25, 0]
    assert above_the_worst_case(runs) == {}


COLUMNS = [name for name in RECORD_SCHEMA.names if name not in ("label", "dataset", "protocol")]
SWEPT = [(name, Fraction(n, 255)) for name in ("fgsm", "pgd", "noise") for n in (1, 2, 3)]
RADII = st.sampled_from(
    [n / 255 + beyond * TOLERANCE for n in (0.4, 1, 2, 3) for beyond in (0, 0.5, 2)] + [np.inf]
)
FAILURES = st.sampled_from(["error", "absent"])


def conditions_of(chosen: Sequence[tuple[str, Fraction]]) -> list[Condition]:
    return [
        clean(),
        *(ATTACKS[name].condition(eps) for name, eps in chosen),
        ATTACKS["fmn"].condition(),
    ]


def drawn(
    data: st.DataObject, conditions: Sequence[Condition], image: int, *, failing: bool
) -> list[dict[str, Any]]:
    """Records of one image: what each attack did to it, or that it failed or is missing."""
    failures = FAILURES if failing else st.nothing()
    usual = {"index": image, "image": f"{image}.png", "target": 7, "status": "ok"}
    usual |= {"clean_prediction": 7, "prediction": 3, "clean_loss": 0.5, "loss": 1.0, "l2": 0.5}
    clean_rank = data.draw(st.integers(0, 1))
    rows = []
    for position, condition in enumerate(conditions):
        row: dict[str, Any] = {**usual, "entry": position, "clean_rank": clean_rank}
        if condition.about.finds_radius:
            outcome = data.draw(RADII | failures)
            row |= {"radius": outcome, "rank": int(outcome != np.inf)}
        else:
            outcome = data.draw(st.sampled_from([0, 0.5, 1.0]) | failures) if position else 0
            row["rank"] = int(outcome != 0) if position else clean_rank
            row["linf"] = outcome if isinstance(outcome, str) else float(condition.eps) * outcome
        if outcome == "error":
            row |= {"status": "error", "message": "it failed"}
            row |= dict.fromkeys(("rank", "linf", "l2", "radius"))
        if outcome != "absent":
            rows.append(row)
    return rows


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_was_found_the_best_curve_is_nowhere_above_the_worst_case(
    data: st.DataObject,
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(SWEPT), min_size=1, max_size=4, unique=True))
    conditions = conditions_of(chosen)
    n_images = data.draw(st.integers(1, 4))
    failing = data.draw(st.booleans())
    rows = [
        row for image in range(n_images) for row in drawn(data, conditions, image, failing=failing)
    ]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "entry"])
    runs = runs_of([entry(condition, n_images) for condition in conditions], frame)
    assert above_the_worst_case(runs) == {}


def test_what_an_attack_found_before_it_failed_counts_in_the_best_curve() -> None:
    conditions = conditions_of([("pgd", Fraction(1, 255))])
    usual: dict[str, Any] = {"target": 7, "clean_prediction": 7, "prediction": 3, "clean_rank": 0}
    usual |= {"clean_loss": 0.5, "loss": 1.0, "l2": 0.5, "status": "ok"}
    outcomes: list[tuple[dict[str, Any], ...]] = [  # of clean pixels, of PGD, and FMN's radius
        ({"rank": 0}, {"rank": 0, "linf": 1 / 255}, {"rank": 1, "radius": 0.4 / 255}),
        ({"rank": 0}, {"rank": 1, "linf": 1 / 255}, {"status": "error", "message": "it failed"}),
    ]
    rows = [
        {**usual, "index": image, "image": f"{image}.png", "entry": position, **outcome}
        for image, of_image in enumerate(outcomes)
        for position, outcome in enumerate(of_image)
    ]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "entry"])
    runs = runs_of([entry(condition, 2) for condition in conditions], frame)
    table = results(with_worst(runs)).set_index("condition")
    assert table.loc["worst@1/255", "top1"] == 0
    curves = {curve.source: curve for curve in radius_curves(runs, results(runs))}
    assert curves[BEST].radii.tolist() == pytest.approx([0.4, 1])
