"""One row a model: clean images, the attack that stands for all at three budgets, corruptions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan
from typing import Any, NamedTuple

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN
from robustbench_twicing.data.imagenet_c import MAIN
from robustbench_twicing.files.printable import count

from ...imagenet_c.corruption_rows import CORRUPTED, corruption_rows
from ...metrics.notes import mean_and_spread
from ...plots.curves import Accuracy, budget_unit
from ..drawing.curve import Models, hint, percent
from ..places import Attacks, Place
from .examples import spread

MOST_BUDGETS = 3


class Cell(NamedTuple):
    """A number, or why there is none.

    Attributes:
        text: rounded.
        value: percent in full precision; None where there is none.
        hint: with its interval.
    """

    text: str = ""
    value: float | None = None
    hint: str = ""

    @property
    def level(self) -> int:
        """Of the bar, percent."""
        return round(self.value or 0)


class Column(NamedTuple):
    """A column: its head, what stands above it and its neighbours, and a cell for each label."""

    head: str
    group: str
    cells: Mapping[str, Cell]


class Row(NamedTuple):
    """A model: its number, classes and marker of its series, its label and its name, its cells."""

    model: int
    kind: str
    marker: str
    label: str
    name: str
    is_baseline: bool
    cells: Sequence[Cell]


class Leaderboard(NamedTuple):
    """A table.

    Attributes:
        columns: of it; those of one group stand beside each other.
        rows: by the column in ``order``, best first; who has no number comes last.
        order: position of a column.
        notes: below it.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    order: int
    notes: Sequence[str]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """What stands above columns, with how many are below it."""
        runs = groupby(self.columns, key=lambda column: column.group)
        return [(group, len(list(columns))) for group, columns in runs]


def leaderboard(place: Place, models: Models, attacks: Attacks) -> Leaderboard | None:
    """The models of a place; None where it has none of these numbers.

    Args:
        place: see `places`.
        models: how they are shown.
        attacks: see `Runs.attacks`.
    """
    corrupted, notes = corruption_columns(place)
    columns = [*_clean(place), *_attacked(place, attacks), *corrupted]
    if not columns:
        return None
    labels = list(dict.fromkeys(place.rows["label"]))
    at = f"{place.budget:g}"
    order = next((n for n, column in enumerate(columns) if column.group and column.head == at), 0)
    wanted = columns[order]

    def down(label: str) -> float:
        value = wanted.cells.get(label, Cell()).value
        return float("inf") if value is None else -value

    rows = [
        Row(
            models.number(label),
            models.kind(label),
            models.marker(label),
            label,
            models.names[label],
            label == models.baseline,
            [column.cells.get(label, Cell()) for column in columns],
        )
        for label in sorted(labels, key=down)
    ]
    attacked = f"{place.title(attacks)} at {place.at(place.budget)}"
    by = f"Ordered by {attacked if wanted.group else wanted.head}."
    order_note = [by] if len(rows) > 1 else []
    is_lacking = any(not cell.text for row in rows for cell in row.cells)
    lacking = ["An empty cell was not run."] if is_lacking else []
    return Leaderboard(columns, rows, order, [*order_note, *notes, *lacking])


def _clean(place: Place) -> Iterator[Column]:
    rows = place.rows[place.rows["attack"] == CLEAN]
    for condition, same in rows.groupby("condition", sort=False):
        yield Column(str(condition), "", _cells(same))


def _attacked(place: Place, attacks: Attacks) -> Iterator[Column]:
    group = f"{place.title(attacks)}, {budget_unit(place.protocol)}"
    for budget in shown_budgets(place):
        points = place.points[place.points["budget"] == budget]
        rows = place.rows.iloc[points["entry"].to_numpy(dtype=int)]
        yield Column(f"{budget:g}", group, _cells(rows))


def shown_budgets(place: Place) -> list[float]:
    """The smallest, that of the headline or else one in the middle, and the largest."""
    first, *rest = spread(place.budgets, MOST_BUDGETS) or [0.0]
    if len(rest) < MOST_BUDGETS - 1 or place.budget in (first, *rest):
        return [budget for budget in (first, *rest) if budget]
    return [first, place.budget, rest[-1]]


def _cells(rows: pd.DataFrame) -> dict[str, Cell]:
    return {row["label"]: _cell(row) for row in rows.to_dict("records")}


def _cell(row: Mapping[Any, Any]) -> Cell:
    if row["status"] != "ok" or isnan(row["top1"]):
        return Cell(str(row["status"]))
    drawn = mean_and_spread(row)
    draws = f"; of {row['draws']} draws {drawn} %" if drawn else ""
    return Cell(percent(row["top1"]), float(row["top1"]), hint(row) + draws)


def corruption_columns(place: Place, accuracy: Accuracy = "top1") -> tuple[list[Column], list[str]]:
    """Mean accuracy over corrupted images, a column for each source of them, and what it is of.

    It is over the 15 main corruptions of ImageNet-C where some of these were run, so that it is the
    benchmark's mean corruption accuracy where they are complete, and else over all that were run.
    A model has a number if it was scored under each condition under which any other was.
    """
    cells = corruption_rows(place.rows[place.rows["attack"].isin(CORRUPTED)])
    columns, notes = [], []
    for source, rows in cells.groupby("source", sort=False):
        main = rows[rows["corruption"].isin(MAIN)]
        of = main if len(main) else rows
        conditions = of["condition"].nunique()
        head = "corruptions" if cells["source"].nunique() == 1 else f"corruptions ({source})"
        models = of.groupby("label", sort=False)
        columns.append(
            Column(
                head,
                "",
                {str(label): _mean(same, conditions, accuracy) for label, same in models},
            )
        )
        severities = ", ".join(str(severity) for severity in sorted(of["severity"].unique()))
        ran = count(conditions, "condition that was run", "conditions that were run")
        notes.append(
            f"{head.capitalize()}: mean {accuracy.replace('top', 'top-')} over the {ran} "
            f"({count(of['corruption'].nunique(), 'corruption')}, severity {severities})."
        )
    return columns, notes


def _mean(rows: pd.DataFrame, conditions: int, accuracy: Accuracy) -> Cell:
    scored = rows[rows["status"] == "ok"]
    if scored["condition"].nunique() < conditions:
        return Cell("incomplete")
    value = float(scored[accuracy].astype(float).mean())
    return Cell(
        percent(value), value, f"{percent(value)} %, mean of {count(conditions, 'condition')}"
    )
