"""Accuracy on corrupted images, models down, corruptions and severities across."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN

from ...imagenet_c.corruption_rows import CORRUPTED, corruption_rows
from ...plots.corruption_map import corrupted_images
from ..drawing.curve import Key, Models, hint, percent
from ..drawing.matrix import Head, digits, grouped, heads, signed, tint
from ..places import Attacks, Place
from .leaderboard import Cell, Column, corruption_columns


class Coloured(NamedTuple):
    """A cell: a number as accuracy and against the baseline's; empty where it was not run.

    Attributes:
        text: rounded, or why there is no number.
        value: percent in full precision; None where there is none.
        hint: with its interval.
        level: of the colour, percent.
        difference: to the baseline, rounded; empty where one of the two has no number.
        tint: class of its colour.
    """

    text: str = ""
    value: float | None = None
    hint: str = ""
    level: int = 0
    difference: str = ""
    tint: str = ""


class Line(NamedTuple):
    """A model, and its cells: clean images, each column, the mean."""

    row: Key
    is_baseline: bool
    clean: Coloured
    cells: Sequence[Coloured]
    mean: Coloured


class Matrix(NamedTuple):
    """Corrupted images of one source.

    Attributes:
        place: data set, protocol and source, as far as there are others; may be empty.
        columns: corruptions and severities that were run.
        made: what the images are, in words.
        lines: models, in their order.
        digits: decimals of its numbers.
        notes: below it.
    """

    place: str
    made: str
    columns: Sequence[Head]
    lines: Sequence[Line]
    digits: int
    notes: Sequence[str]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Corruptions, and how many severities of each were run."""
        return grouped(self.columns)


def corruption_matrices(
    places: Sequence[Place], models: Models, attacks: Attacks
) -> Iterator[Matrix]:
    """A matrix for each place, and within it for each source of its corrupted images.

    Args:
        places: see `places`.
        models: how they are shown.
        attacks: see `Runs.attacks`.
    """
    for place in places:
        corrupted = place.rows[place.rows["attack"].isin(CORRUPTED)]
        means, notes = corruption_columns(place)
        sources = corrupted.groupby("source", sort=False)
        for (source, rows), mean, note in zip(sources, means, notes, strict=True):
            names = [f"{place.dataset}, protocol {place.protocol}"] if len(places) > 1 else []
            names += [str(source)] if len(means) > 1 else []
            ran = set(rows["condition"])
            columns = [head for head in heads(place, attacks) if head.condition in ran]
            matrix = _matrix(place, rows, mean, columns, models)
            yield matrix._replace(place=", ".join(names), notes=[note])


def _matrix(
    place: Place, rows: pd.DataFrame, mean: Column, columns: Sequence[Head], models: Models
) -> Matrix:
    numbers = [float(value) for value in rows.loc[rows["status"] == "ok", "top1"]]
    decimals = digits(numbers)
    cleans = _by_label(place.rows[place.rows["condition"] == CLEAN], decimals)
    by_condition = {
        str(condition): _by_label(same, decimals) for condition, same in rows.groupby("condition")
    }
    means = {label: _of_mean(cell) for label, cell in mean.cells.items()}
    ours = [cleans, *(by_condition[head.condition] for head in columns), means]
    against = [_against(cells, models.baseline, decimals) for cells in ours[:-1]]
    against.append(_against(ours[-1], models.baseline, 1))
    lines = []
    for label in models.look_of:
        if label not in set(rows["label"]):
            continue
        clean, *cells, last = (cells.get(label, Coloured()) for cells in against)
        lines.append(Line(models.key(label), label == models.baseline, clean, cells, last))
    made = corrupted_images(corruption_rows(rows))
    return Matrix("", made, columns, lines, decimals, [])


def _by_label(rows: pd.DataFrame, decimals: int) -> dict[str, Coloured]:
    return {row["label"]: _cell(row, decimals) for row in rows.to_dict("records")}


def _cell(row: Mapping[Any, Any], decimals: int) -> Coloured:
    if row["status"] != "ok" or pd.isna(row["top1"]):
        return Coloured("–", None, str(row["status"]))
    value = float(row["top1"])
    return Coloured(f"{value:.{decimals}f}", value, hint(row), round(value))


def _of_mean(cell: Cell) -> Coloured:
    if cell.value is None:
        return Coloured("–", None, cell.text)
    return Coloured(f"{cell.value:.1f}", cell.value, f"{percent(cell.value)} %", round(cell.value))


def _against(cells: Mapping[str, Coloured], baseline: str, decimals: int) -> dict[str, Coloured]:
    """The same cells, with their differences to the baseline's."""
    base = cells.get(baseline, Coloured()).value
    if base is None:
        return dict(cells)
    return {
        label: cell
        if cell.value is None
        else cell._replace(
            difference=signed(cell.value - base, decimals), tint=tint(cell.value - base)
        )
        for label, cell in cells.items()
    }
