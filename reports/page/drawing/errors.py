"""Corruption errors of all models as markers: a row for each corruption, and one for their mean."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN
from robustbench_twicing.files.printable import count

from ...imagenet_c.corruption_rows import corruption_rows
from ...imagenet_c.corruption_scores import scores_of
from ...plots.corruption_bars import MEANS
from ...tables.formats.as_html import shown
from .curve import Key, Models, Point
from .geometry import ticks_around
from .sweeps import MARGIN, SMALL, UNDER

TOP, ROW = 12, 18
LEFT = 122
"""Room for the name of a corruption."""
WHOLE = 100.0
"""Percent: as many errors as the network whose errors are the unit."""
FAMILIES = ((MEANS[False], "mCE", MAIN), (MEANS[True], "mean CE", EXTRA))


class Marked(NamedTuple):
    """A model and its markers."""

    key: Key
    points: Sequence[Point]


class Errors(NamedTuple):
    """A drawing of the width of `SMALL`.

    Attributes:
        width, height: of all of it.
        left, right, bottom: of the plot.
        ticks: places and texts below.
        whole: where 100 % is; None where that is not on the axis.
        rows: heights and names; the last one is the mean.
        models: with their markers.
        title: of it.
        unit: whose errors are 100 %.
        notes: below it.
    """

    width: int
    height: float
    left: float
    right: float
    bottom: float
    ticks: Sequence[tuple[float, str]]
    whole: float | None
    rows: Sequence[tuple[float, str]]
    models: Sequence[Marked]
    title: str
    unit: str
    notes: Sequence[str] = ()


def corruption_errors(
    rows: pd.DataFrame, scores: pd.DataFrame | None, models: Models
) -> Iterator[Errors]:
    """CE of the fifteen corruptions of mCE, then of the extra four, where any is complete.

    Args:
        rows: of `results`, of one data set, protocol and source of images.
        scores: `corruption_scores` of at least these rows, in units of AlexNet unless given.
        models: how they are shown.
    """
    numbers = scores_of(rows, scores)
    present = set(corruption_rows(rows)["corruption"])
    for mean, short, corruptions in FAMILIES:
        names = [name for name in corruptions if name in present]
        of_family = ((numbers["number"] == "CE") & numbers["corruption"].isin(names)) | (
            numbers["number"] == mean
        )
        family = numbers[of_family]
        if family.loc[family["number"] == "CE", "percent"].notna().any():
            yield _drawing(family, dict.fromkeys(names, "") | {"": short}, models, mean)


def _drawing(numbers: pd.DataFrame, names: Mapping[str, str], models: Models, mean: str) -> Errors:
    known = numbers.dropna(subset="percent")
    low, *_, high = ticks = ticks_around(
        float(known["percent"].min()), float(known["percent"].max())
    )
    right, bottom = SMALL.width - MARGIN - 6, TOP + ROW * len(names)
    scale = (right - LEFT) / (high - low)
    heights = {name: TOP + ROW * (number + 0.5) for number, name in enumerate(names)}
    words = {name: short or name.replace("_", " ") for name, short in names.items()}
    marked = []
    for label in models.look_of:
        points = [
            Point(
                LEFT + scale * (row["percent"] - low),
                heights[row["corruption"]],
                f"{shown(label)}, {words[row['corruption']]}: {row['percent']:.1f} %",
            )
            for row in known[known["label"] == label].to_dict("records")
        ]
        if points:
            marked.append(Marked(models.key(label), points))
    missing = len(numbers) - len(known)
    unit = next(iter(numbers.loc[numbers["normaliser"] != "", "normaliser"]), "")
    return Errors(
        SMALL.width,
        bottom + UNDER,
        LEFT,
        right,
        bottom,
        [(LEFT + scale * (tick - low), f"{tick:g}") for tick in ticks],
        LEFT + scale * (WHOLE - low) if low < WHOLE < high else None,
        [(heights[name], words[name]) for name in names],
        marked,
        "Extra corruption errors" if mean == MEANS[True] else "Corruption errors",
        shown(unit),
        [f"Not complete, and not drawn: {count(missing, 'number')}."] if missing else [],
    )
