"""The worst case of records that are written down, and against a plain loop over all of them."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.merging.columns import grid_of
from reports.merging.strongest import WITNESSES, Ensemble, strongest
from robustbench_twicing.conditions.condition import Condition, condition_id
from robustbench_twicing.records.schema import RECORD_SCHEMA
from tests.reports.made import condition

SCHEMA = pa.schema(
    [
        *(
            pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type)
            for field in RECORD_SCHEMA
        ),
        ("entry", pa.int32()),
    ]
)
CLEAN = 0
WORST = 100
"""Entries of the clean images, and of the worst case at the smallest budget."""


def table(*rows: dict[str, Any]) -> pa.Table:
    """Records; image 0, right before, and scored unless they say otherwise."""
    usual = {"index": 0, "status": "ok", "clean_rank": 0, "clean_loss": 0.5, "clean_prediction": 7}
    usual |= {"image": "a.png", "target": 7, "rank_8bit": 9, "linf": 0.1}
    return pa.Table.from_pylist([usual | row for row in rows], SCHEMA)


def members(*names: str) -> dict[int, Condition]:
    """The attacked conditions, from entry 1 on."""
    return {number: condition(name) for number, name in enumerate(names, 1)}


CONNECTION = duckdb.connect()


def search(records: pa.Table, conditions: dict[int, Condition]) -> tuple[pa.Table, list[bool]]:
    """Records of the worst case, and of each budget whether its ranks are partly known."""
    rows = len(conditions) + 1
    ensemble = Ensemble(conditions, (CLEAN,))
    names = ["clean", *(one.id for one in conditions.values())]
    ids = pa.array([names[entry] for entry in records["entry"].to_pylist()], pa.string())
    place = records.schema.get_field_index("condition")
    CONNECTION.register("records", records.set_column(place, "condition", ids))
    grid = grid_of(records, records["entry"].to_numpy(), rows)
    scored = ensemble.scored(grid)
    picked = strongest(ensemble, grid.columns, scored, rows)
    CONNECTION.register("given", picked.table(grid, scored, rows, np.arange(rows), WORST))
    sql = f"SELECT * REPLACE (unnest(range(entry, entry + budgets)) AS entry) FROM ({WITNESSES})"
    made = CONNECTION.sql(f'{sql} ORDER BY entry, "index"').to_arrow_table()
    return made.drop_columns("budgets"), picked.partly.tolist()


def worst(records: pa.Table, conditions: dict[int, Condition]) -> list[dict[str, Any]]:
    """Records of the worst case, by budget and image."""
    made: list[dict[str, Any]] = search(records, conditions)[0].to_pylist()
    return made


def test_a_smaller_budget_counts_at_a_larger_one_and_never_the_other_way() -> None:
    conditions = members("fgsm@1/255", "pgd@2/255", "fgsm@4/255")
    records = table(
        {"entry": 1, "rank": 0, "loss": 1.0},
        {"entry": 2, "rank": 3, "loss": 2.0, "prediction": 5, "linf": 0.2},
        {"entry": 3, "rank": 0, "loss": 9.0},
    )
    rows = worst(records, conditions)
    assert [row["entry"] for row in rows] == [WORST, WORST + 1, WORST + 2]
    assert [row["rank"] for row in rows] == [0, 3, 3]
    assert [row["witness"] for row in rows] == ["fgsm@1/255", "pgd@2/255", "pgd@2/255"]
    assert rows[2] == rows[1] | {"entry": WORST + 2}
    assert (rows[1]["prediction"], rows[1]["loss"], rows[1]["linf"]) == (5, 2.0, 0.2)


def test_a_clean_image_that_is_wrong_is_broken_whatever_attacks_do() -> None:
    before = {"clean_rank": 4, "clean_prediction": 2, "clean_loss": 3.0, "index": 1}
    records = table({"entry": 1, "rank": 0, "loss": 9.0, **before, "l2": 0.3, "l0": 5, "goal": 2})
    (row,) = worst(records, members("fgsm@1/255"))
    assert (row["rank"], row["prediction"], row["loss"], row["witness"]) == (4, 2, 3.0, "clean")
    assert (row["rank_8bit"], row["index"], row["image"]) == (4, 1, "a.png")
    distances = ("linf", "l2", "l0")
    assert [row[name] for name in (*distances, "goal", "radius")] == [0, 0, 0, None, None]
    (of_before,) = worst(table({"entry": 1, "rank": 0, **before}), members("fgsm@1/255"))
    assert [of_before[name] for name in distances] == [0, None, None]  # not measured then


@pytest.mark.parametrize(
    ("first", "second", "witness"),
    [
        ({"rank": 2, "loss": 1.0}, {"rank": 3, "loss": 0.5}, "pgd@1/255"),
        ({"rank": 2, "loss": 1.0}, {"rank": 2, "loss": 1.5}, "pgd@1/255"),
        ({"rank": 2, "loss": 1.0}, {"rank": 2, "loss": 1.0}, "fgsm@1/255"),
        ({"rank": 0, "loss": 0.1}, {"rank": 0, "loss": 0.2}, "clean"),
    ],
)
def test_the_witness_has_the_largest_rank_then_the_largest_loss_then_stands_first(
    first: dict[str, Any], second: dict[str, Any], witness: str
) -> None:
    records = table({"entry": 2, **second}, {"entry": 1, **first})
    (row,) = worst(records, members("fgsm@1/255", "pgd@1/255"))
    assert row["witness"] == witness


def test_between_equals_the_smaller_budget_is_the_witness() -> None:
    same = {"rank": 2, "loss": 1.0}
    records = table({"entry": 1, **same}, {"entry": 2, **same})
    rows = worst(records, members("fgsm@4/255", "pgd@1/255"))
    assert [row["witness"] for row in rows] == ["pgd@1/255"] * 2


@pytest.mark.parametrize(
    ("rank", "other", "status", "witness"),
    [
        (3, {"status": "error", "message": "it failed"}, "ok", "fgsm@1/255"),
        (0, {"status": "error", "message": "it failed"}, "error", None),
        (3, {"status": "inherited", "rank": 3, "witness": "fgsm@1/255"}, "ok", "fgsm@1/255"),
        (3, {"status": "skipped", "message": "no image"}, "skipped", None),
        (0, {"status": "skipped", "message": "no image"}, "skipped", None),
    ],
)
def test_an_image_that_an_attack_left_out_counts_only_where_another_broke_it(
    rank: int, other: dict[str, Any], status: str, witness: str | None
) -> None:
    records = table({"entry": 1, "rank": rank, "loss": 1.0}, {"entry": 2, **other})
    conditions = members("fgsm@1/255", "pgd@1/255")
    (row,) = worst(records, conditions)
    assert (row["status"], row["witness"]) == (status, witness)
    assert row["message"] == (None if status == "ok" else other["message"])
    assert search(records, conditions)[1] == [status == "ok"]


@pytest.mark.parametrize(("rank", "found"), [(0, 0), (3, 1)])
def test_an_image_that_an_attack_was_not_run_on_has_no_record_unless_broken(
    rank: int, found: int
) -> None:
    records = table({"entry": 1, "rank": rank, "loss": 1.0})
    assert len(worst(records, members("fgsm@1/255", "pgd@1/255"))) == found


def test_a_larger_budget_that_failed_harms_no_smaller_one() -> None:
    records = table({"entry": 1, "rank": 0, "loss": 1.0}, {"entry": 2, "status": "error"})
    rows = worst(records, members("fgsm@1/255", "pgd@2/255"))
    assert [row["status"] for row in rows] == ["ok", "error"]


def test_nothing_comes_of_no_records() -> None:
    assert worst(table(), members("fgsm@1/255", "pgd@1/255")) == []


NAMES = ("fgsm", "pgd", "noise")
RANKS = st.integers(0, 2)
LOSSES = st.sampled_from([0.0, 0.5, 1.0])
ATTACKED = st.one_of(
    st.tuples(RANKS, LOSSES), st.sampled_from(["error", "inherited", "skipped", "absent"])
)


def plain(
    before: tuple[int, float], results: list[tuple[Condition, Any]], eps: Fraction
) -> tuple[str, int, float, str] | str:
    """Status, rank, loss and witness of one image, as the definition says it."""
    counted = [(one, result) for one, result in results if one.eps <= eps]
    outcomes = [result for _, result in counted]
    if "skipped" in outcomes:
        return "skipped"
    best = ("ok", *before, "clean")
    for one, result in sorted(counted, key=lambda pair: pair[0].eps):
        if isinstance(result, tuple) and result > best[1:3]:
            best = ("ok", *result, one.id)
    if best[1] == 0 and not all(isinstance(result, tuple) for result in outcomes):
        return "error" if "error" in outcomes else "absent"
    return best


def drawn(
    data: st.DataObject, conditions: dict[int, Condition], image: int
) -> tuple[list[dict[str, Any]], dict[Fraction, tuple[str, int, float, str] | str]]:
    """Records of one image, and its worst case by budget."""
    rank, loss = before = data.draw(st.tuples(RANKS, LOSSES))
    clean: dict[str, Any] = {"index": image, "clean_rank": rank, "clean_loss": loss}
    rows = [{"entry": CLEAN, **clean, "rank": rank, "loss": loss}]
    results = [(one, data.draw(ATTACKED)) for one in conditions.values()]
    for number, (_, result) in enumerate(results, 1):
        if isinstance(result, tuple):
            rows.append({"entry": number, **clean, "rank": result[0], "loss": result[1]})
        elif result != "absent":
            rows.append({"entry": number, **clean, "status": result})
    return rows, {one.eps: plain(before, results, one.eps) for one in conditions.values()}


def read(row: dict[str, Any]) -> tuple[str, int, float, str] | str:
    """A record as `plain` says it."""
    scored = row["status"] == "ok"
    return ("ok", row["rank"], row["loss"], row["witness"]) if scored else str(row["status"])


@given(st.data())
def test_it_is_what_a_plain_loop_finds(data: st.DataObject) -> None:
    places = [(name, Fraction(count, 255)) for name in NAMES for count in range(1, 4)]
    chosen = data.draw(st.lists(st.sampled_from(places), min_size=1, unique=True))
    usual = condition("fgsm@1/255")
    conditions = {
        number: replace(usual, id=condition_id(name, eps), attack=name, eps=eps)
        for number, (name, eps) in enumerate(chosen, 1)
    }
    images = [drawn(data, conditions, image) for image in range(data.draw(st.integers(1, 3)))]
    shuffled = data.draw(st.permutations([row for rows, _ in images for row in rows]))
    budgets = sorted({one.eps for one in conditions.values()})
    made = {
        (budgets[row["entry"] - WORST], row["index"]): read(row)
        for row in worst(table(*shuffled), conditions)
    }
    assert made == {
        (eps, image): row
        for image, (_, expected) in enumerate(images)
        for eps, row in expected.items()
        if row != "absent"
    }
    for smaller, eps in pairwise(budgets):
        for image in range(len(images)):
            before, row = made.get((smaller, image)), made.get((eps, image))
            if isinstance(before, tuple) and isinstance(row, tuple):
                assert before[1:3] <= row[1:3]
