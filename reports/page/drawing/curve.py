"""The drawing of accuracy over the budget: what its template writes, once wide and once narrow."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from rich.cells import cell_len

from ...plots.curves import budget_unit, is_wide
from ...plots.series import COLOURS, LINES, Look, looks
from ...tables.formats.as_html import shown
from ...text.shortening import common_start, shortened
from ..places import Place
from .geometry import MARKERS, apart, budget_place, line, thinned

MOST_SERIES = 16
"""Series that colour, dash and marker tell apart, and whose names fit beside the plot."""
LABEL_GAP = 17
CELL = 6.9
"""Width of a letter of a name."""


class Size(NamedTuple):
    """Of a drawing, and the letters that a name beside it may have."""

    name: str
    width: int
    height: int
    letters: int


SIZES = (Size("wide", 580, 440, 20), Size("narrow", 400, 430, 13))
LEFT, TOP, UNDER = 44, 14, 48


class Point(NamedTuple):
    """A marker: where it is, and what it says."""

    x: float
    y: float
    text: str


class Series(NamedTuple):
    """One model.

    Attributes:
        model: its number.
        kind: classes: colour, dash, and whether it is the baseline or has hollow markers.
        marker: outline around a point.
        path: of the line.
        points: that were scored.
        name, value: beside the line's end.
        y: height of that text.
        leader: path from the line's end to it.
    """

    model: int
    kind: str
    marker: str
    path: str
    points: Sequence[Point]
    name: str
    value: str
    y: float
    leader: str


class Drawing(NamedTuple):
    """A drawing of one size.

    Attributes:
        size: see `Size`.
        right, bottom: where the plot ends.
        across: heights and texts of the lines of the grid.
        ticks: places and texts below.
        axis: what the budgets are.
        series: the thick line of the baseline first, below all others.
    """

    size: Size
    right: float
    bottom: float
    across: Sequence[tuple[float, str]]
    ticks: Sequence[tuple[float, str]]
    axis: str
    series: Sequence[Series]


class Models(NamedTuple):
    """How models are shown, by label, in their order.

    Attributes:
        look_of: the same as in other pictures.
        names: the labels, perhaps without their common start.
        start: what is left out of the names; empty where it is nothing.
        baseline: its label; empty where there is none.
    """

    look_of: Mapping[str, Look]
    names: Mapping[str, str]
    start: str
    baseline: str

    @classmethod
    def of(cls, results: pd.DataFrame, baseline: str) -> "Models":
        """The models of `results`, without the words with which all labels begin."""
        labels = [str(label) for label in results["label"].unique()]
        start = common_start([shown(label) for label in labels])
        names = {label: shown(label)[len(start) :] for label in labels}
        return cls(looks(labels), names, start, baseline)

    def number(self, label: str) -> int:
        """Of a model in its order, by which the page's script knows it."""
        return list(self.look_of).index(label)

    def kind(self, label: str) -> str:
        """Classes of a model's series."""
        look = self.look_of[label]
        kind = f"c{COLOURS.index(look.colour)} d{LINES.index(look.line)}"
        is_baseline = label == self.baseline
        return f"{kind}{'' if look.filled else ' hollow'}{' base' if is_baseline else ''}"

    def marker(self, label: str) -> str:
        """Outline of a model's marker."""
        return MARKERS[self.look_of[label].marker]

    def drawn(self, labels: Collection[str]) -> list[str]:
        """Whose curves are drawn: up to `MOST_SERIES` named first, and the baseline."""
        ordered = sorted(
            (label for label in self.look_of if label in labels),
            key=lambda label: label != self.baseline,
        )
        return ordered[:MOST_SERIES]


def percent(value: float) -> str:
    """As in the tables."""
    return f"{value:.2f}"


def hint(row: Mapping[Any, Any]) -> str:
    """A result with its interval: ``82.00 %, 95 % interval 73.3 to 88.3 (100 images)``."""
    interval = f"95 % interval {row['top1_ci_low']:.1f} to {row['top1_ci_high']:.1f}"
    return f"{percent(row['top1'])} %, {interval} ({row['n_images']} images)"


def drawings(place: Place, models: Models) -> list[Drawing]:
    """The attack that stands for all, over its budgets, in all `SIZES`; none where it has none."""
    scored = place.points[place.points["status"] == "ok"]
    labels = models.drawn(set(scored["label"]))
    return [_drawing(place, size, labels, models) for size in SIZES if labels]


def _drawing(place: Place, size: Size, labels: Sequence[str], models: Models) -> Drawing:
    short = {label: shortened(models.names[label], size.letters) for label in labels}
    room = 24 + CELL * (6 + max(cell_len(name) for name in short.values()))
    right, bottom = size.width - room, size.height - UNDER
    wide = is_wide(place.budgets)
    budgets = [0.0, *place.budgets]
    xs = [
        LEFT + (right - LEFT) * budget_place(budget, place.budgets, wide=wide) for budget in budgets
    ]
    at = dict(zip(budgets, xs, strict=True))
    curves = [
        _curve(place, place.points[place.points["label"] == label], at, bottom) for label in labels
    ]
    ends = [curve[-1] for _, curve in curves]
    heights = apart([end.y for end in ends], LABEL_GAP, TOP, bottom)
    series = [
        Series(
            models.number(label),
            models.kind(label),
            models.marker(label),
            path,
            points,
            short[label],
            percent(_value(place, label)),
            y,
            f"M{end.x + 6:.1f} {end.y:.1f}L{right + 8:.1f} {end.y:.1f}L{right + 18:.1f} {y:.1f}h3",
        )
        for label, (path, points), end, y in zip(labels, curves, ends, heights, strict=True)
    ]
    texts = ["clean", *(f"{budget:g}" for budget in place.budgets)]
    gap = 8 + CELL * max(2, *(len(text) for text in texts[1:]))
    ticks = [(xs[number], texts[number]) for number in thinned(xs, gap)]
    across = [(_height(value, bottom), str(value)) for value in range(0, 101, 20)]
    axis = f"budget, {budget_unit(place.protocol)}{', log scale' if wide else ''}"
    return Drawing(size, right, bottom, across, ticks, axis, series)


def _curve(
    place: Place, points: pd.DataFrame, at: Mapping[float, float], bottom: float
) -> tuple[str, list[Point]]:
    """The line, and its markers."""
    rows = place.rows.iloc[points["entry"].to_numpy(dtype=int)]
    scored = rows["top1"].where(rows["status"] == "ok").astype(float)
    xs = [at[budget] for budget in points["budget"]]
    ys = [_height(value, bottom) for value in scored]
    texts = [
        f"{row['label']} {row['condition']}: {hint(row)}" if row["status"] == "ok" else ""
        for row in rows.to_dict("records")
    ]
    markers = [Point(*point) for point in zip(xs, ys, texts, strict=True) if point[2]]
    return line(list(zip(xs, ys, strict=True))), markers


def _value(place: Place, label: str) -> float:
    """Where the line of a label ends."""
    points = place.points[(place.points["label"] == label) & (place.points["status"] == "ok")]
    return float(points["top1"].iloc[-1])


def _height(value: float, bottom: float) -> float:
    return bottom - (bottom - TOP) * value / 100
