"""What drawings of curves are made of, for their template, and how models are shown in them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ...plots.curves import Accuracy
from ...plots.series import COLOURS, LINES, Look, looks
from ...statistics.intervals import wilson
from ...tables.formats.as_html import shown
from ...text.shortening import common_start
from .geometry import MARKERS


class Size(NamedTuple):
    """Of a drawing, and the letters that a name beside it may have; 0 where there is none."""

    name: str
    width: int
    height: int
    letters: int


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
        ranges: path of the intervals of its points.
        points: that were scored.
        name, value: beside the line's end; empty where there is nothing.
        y: height of that text.
        leader: path from the line's end to it.
    """

    model: int
    kind: str
    marker: str
    path: str
    ranges: str
    points: Sequence[Point]
    name: str = ""
    value: str = ""
    y: float = 0.0
    leader: str = ""


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


class Key(NamedTuple):
    """How a model is told apart: its number, classes and marker of its series, label and name."""

    model: int
    kind: str
    marker: str
    label: str
    name: str


class Models(NamedTuple):
    """How models are shown, by label, in their order.

    Attributes:
        look_of: the same as in other pictures; no two of the first 64 are equal.
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

    @property
    def keys(self) -> list[Key]:
        """Of all models."""
        return [self.key(label) for label in self.look_of]

    def key(self, label: str) -> Key:
        """Of a model."""
        look = (self.kind(label), self.marker(label))
        return Key(self.number(label), *look, label, self.names[label])

    def drawn(self, labels: Collection[str], most: int) -> list[str]:
        """Whose curves are drawn: the baseline, and those named first, up to so many."""
        ordered = sorted(
            (label for label in self.look_of if label in labels),
            key=lambda label: label != self.baseline,
        )
        return ordered[:most]


def percent(value: float) -> str:
    """As in the tables."""
    return f"{value:.2f}"


def hint(row: Mapping[Any, Any], accuracy: Accuracy = "top1") -> str:
    """A result with its interval: ``82.00 %, 95 % interval 73.3 to 88.3 (100 images)``."""
    images = int(row["n_images"])
    low, high = wilson(round(row[accuracy] * images / 100), images)
    return spoken(row[accuracy], 100 * low, 100 * high, images)


def spoken(value: float, low: float, high: float, images: int) -> str:
    """An accuracy in percent with its interval and the images that it is over."""
    return f"{percent(value)} %, 95 % interval {low:.1f} to {high:.1f} ({images} images)"
