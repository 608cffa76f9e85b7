"""The comparison as matrices: differences by model and condition, with each baseline to choose."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ...plots.curves import budget_unit
from ...statistics.comparison import Comparison
from ..drawing.curve import Key, Models
from ..drawing.forest import Forest, Measured, forest
from ..drawing.matrix import Head, digits, grouped, heads, signed, tint
from ..places import Attacks, Place
from .comparing import Section

INTERVAL = ("difference_ci_low", "difference_ci_high")
NUMBERS = (*INTERVAL, "n_only_baseline", "n_only_label", "n_images", "p", "p_holm")
"""Of a cell, what is shown at a click, in this order."""


class Difference(NamedTuple):
    """A cell.

    Attributes:
        text: the difference in points, rounded.
        value: in full precision.
        more: `NUMBERS`, separated by spaces.
        tint: class of its colour.
        is_sure: whether it is significant.
    """

    text: str
    value: float
    more: str
    tint: str
    is_sure: bool


class Line(NamedTuple):
    """A model: its cells, None where not compared, and how many of its tests are significant."""

    row: Key
    cells: Sequence[Difference | None]
    sure: int
    tests: int


class Sure(NamedTuple):
    """A significant difference in a list: numbers of model and column, and what they are called."""

    row: int
    column: int
    name: str
    words: str
    text: str


class Against(NamedTuple):
    """All models against one of them.

    Attributes:
        number, label, name: of that one.
        lines: the others, in their order.
        sure: significant differences, the largest first.
        tests: how many were tested.
        images: how many all of them are of; empty where they differ.
    """

    number: int
    label: str
    name: str
    lines: Sequence[Line]
    sure: Sequence[Sure]
    tests: int
    images: str


class Compared(NamedTuple):
    """The comparisons of a data set and protocol.

    Attributes:
        place: their names; empty where there is no other.
        columns: conditions that were compared.
        first: number of the first column, counted through all places.
        unit: what budgets are in.
        against: each baseline, that of the page first.
        forest: of the first line.
        digits: decimals of the numbers.
    """

    place: str
    columns: Sequence[Head]
    first: int
    unit: str
    against: Sequence[Against]
    forest: Forest
    digits: int

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Attacks and corruptions, and how many columns each has."""
        return grouped(self.columns)


def differences(
    section: Section, places: Sequence[Place], models: Models, attacks: Attacks
) -> Iterator[Compared]:
    """The matrices of each place in which something was compared.

    Args:
        section: see `comparison_section`.
        places: see `places`.
        models: how they are shown.
        attacks: see `Runs.attacks`.
    """
    first = 0
    for place in places:
        rows = [_rows_of(comparison, place) for comparison in section.comparisons]
        conditions = {name for of in rows for name in of["condition"]}
        columns = [head for head in heads(place, attacks) if head.condition in conditions]
        if not columns:
            continue
        decimals = digits([float(value) for of in rows for value in of["difference"]])
        against = [
            _against(comparison.baseline, of, columns, models, first, decimals)
            for comparison, of in zip(section.comparisons, rows, strict=True)
            if len(of)
        ]
        low, high = INTERVAL
        reaches = [(float(of[low].min()), float(of[high].max())) for of in rows if len(of)]
        names = [head.words for head in columns]
        measured = [cell and _measured(cell) for cell in against[0].lines[0].cells]
        name = f"{place.dataset}, protocol {place.protocol}" if len(places) > 1 else ""
        yield Compared(
            name,
            columns,
            first,
            budget_unit(place.protocol),
            against,
            forest(names, measured, reaches, decimals),
            decimals,
        )
        first += len(columns)


def _rows_of(comparison: Comparison, place: Place) -> pd.DataFrame:
    """Of a comparison, the rows of a place: pairs are positions in the table of results."""
    here = set(place.rows.index)
    return comparison.rows[[second in here for _, second in comparison.pairs]]


def _against(
    baseline: str,
    rows: pd.DataFrame,
    columns: Sequence[Head],
    models: Models,
    first: int,
    decimals: int,
) -> Against:
    lines = []
    for label, of_label in rows.groupby("label", sort=False):
        cells = {row["condition"]: _cell(row, decimals) for row in of_label.to_dict("records")}
        lines.append(
            Line(
                models.key(str(label)),
                [cells.get(head.condition) for head in columns],
                int(of_label["significant"].sum()),
                int(of_label["p_holm"].count()),
            )
        )
    lines.sort(key=lambda line: line.row.model)
    images = rows["n_images"].unique()
    return Against(
        models.number(baseline),
        baseline,
        models.names[baseline],
        lines,
        _sure(lines, columns, first),
        int(rows["p_holm"].count()),
        str(images[0]) if len(images) == 1 else "",
    )


def _cell(row: Mapping[Any, Any], decimals: int) -> Difference:
    value = float(row["difference"])
    more = " ".join(f"{row[name]:.6g}" for name in NUMBERS)
    return Difference(signed(value, decimals), value, more, tint(value), bool(row["significant"]))


def _measured(cell: Difference) -> Measured:
    low, high, *_ = map(float, cell.more.split())
    return Measured(cell.value, low, high, cell.is_sure)


def _sure(lines: Sequence[Line], columns: Sequence[Head], first: int) -> list[Sure]:
    sure = [
        (
            abs(cell.value),
            Sure(line.row.model, first + place, line.row.name, head.words, cell.text),
        )
        for line in lines
        for place, (cell, head) in enumerate(zip(line.cells, columns, strict=True))
        if cell is not None and cell.is_sure
    ]
    sure.sort(key=lambda item: -item[0])
    return [shown for _, shown in sure]
