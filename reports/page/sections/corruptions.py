"""Accuracy on corrupted images, models down, corruptions and severities across."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN

from ...imagenet_c.corruption_rows import CORRUPTED, corruption_rows
from ...plots.corruption_map import corrupted_images
from ...plots.curves import Accuracy
from ..drawing.curve import Key, Models, hint, percent
from ..drawing.errors import Errors, corruption_errors
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


class View(NamedTuple):
    """One accuracy of a matrix.

    Attributes:
        accuracy: which.
        lines: models, in their order.
        digits: decimals of its numbers.
        note: what the mean is of.
    """

    accuracy: Accuracy
    lines: Sequence[Line]
    digits: int
    note: str


class Matrix(NamedTuple):
    """Corrupted images of one source.

    Attributes:
        place: data set, protocol and source, as far as there are others; may be empty.
        made: what the images are, in words.
        columns: corruptions and severities that were run.
        views: its top-1 accuracy, and its top-5 accuracy where there is one.
        errors: drawings of its corruption errors.
    """

    place: str
    made: str
    columns: Sequence[Head]
    views: Sequence[View]
    errors: Sequence[Errors] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Corruptions, and how many severities of each were run."""
        return grouped(self.columns)


def corruption_matrices(
    places: Sequence[Place], models: Models, attacks: Attacks, scores: pd.DataFrame | None = None
) -> Iterator[Matrix]:
    """A matrix for each place, and within it for each source of its corrupted images.

    Args:
        places: see `places`.
        models: how they are shown.
        attacks: see `Runs.attacks`.
        scores: `corruption_scores` of the results, in units of AlexNet unless given.
    """
    for place in places:
        corrupted = place.rows[place.rows["attack"].isin(CORRUPTED)]
        accuracies = [of for of in get_args(Accuracy) if corrupted[of].notna().any()] or ["top1"]
        means = {of: corruption_columns(place, of) for of in accuracies}
        sources = list(corrupted.groupby("source", sort=False))
        for number, (source, rows) in enumerate(sources):
            names = [f"{place.dataset}, protocol {place.protocol}"] if len(places) > 1 else []
            names += [str(source)] if len(sources) > 1 else []
            ran = set(rows["condition"])
            columns = [head for head in heads(place, attacks) if head.condition in ran]
            views = [
                _view(place, rows, of, column[number], note[number], columns, models)
                for of, (column, note) in means.items()
            ]
            made = corrupted_images(corruption_rows(rows))
            drawn = list(corruption_errors(rows, scores, models))
            yield Matrix(", ".join(names), made, columns, views, drawn)


def _view(
    place: Place,
    rows: pd.DataFrame,
    accuracy: Accuracy,
    mean: Column,
    note: str,
    columns: Sequence[Head],
    models: Models,
) -> View:
    numbers = [float(value) for value in rows.loc[rows["status"] == "ok", accuracy]]
    decimals = digits(numbers)
    clean = place.rows[place.rows["condition"] == CLEAN]
    by_condition = {str(condition): same for condition, same in rows.groupby("condition")}
    ours = [
        _by_label(same, accuracy, decimals)
        for same in (clean, *(by_condition[head.condition] for head in columns))
    ]
    means = {label: _of_mean(cell) for label, cell in mean.cells.items()}
    against = [_against(cells, models.baseline, decimals) for cells in ours]
    against.append(_against(means, models.baseline, 1))
    lines = []
    for label in models.look_of:
        if label not in set(rows["label"]):
            continue
        first, *cells, last = (cells.get(label, Coloured()) for cells in against)
        lines.append(Line(models.key(label), label == models.baseline, first, cells, last))
    return View(accuracy, lines, decimals, note)


def _by_label(rows: pd.DataFrame, accuracy: Accuracy, decimals: int) -> dict[str, Coloured]:
    return {row["label"]: _cell(row, accuracy, decimals) for row in rows.to_dict("records")}


def _cell(row: Mapping[Any, Any], accuracy: Accuracy, decimals: int) -> Coloured:
    if row["status"] != "ok" or pd.isna(row[accuracy]):
        return Coloured("–", None, str(row["status"]))
    value = float(row[accuracy])
    return Coloured(f"{value:.{decimals}f}", value, hint(row, accuracy), round(value))


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
