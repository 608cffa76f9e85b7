"""One number of each model with its interval, as a small plot of dots."""

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from rich.cells import cell_len

from ...text.shortening import shortened
from .curve import Models
from .geometry import ticks_around
from .sweeps import MARGIN, SMALL, UNDER

TOP, LETTERS, LETTER = 10, 16, 6.4
ROWS = 15, 22
"""Lowest and highest row."""


class Measured(NamedTuple):
    """A number and its interval, which may be infinite.

    Attributes:
        label: of the model.
        value, low, high: in the unit of the axis.
        text: what the dot says.
        ring: a number that it is to be seen beside; NaN where there is none.
    """

    label: str
    value: float
    low: float
    high: float
    text: str
    ring: float = float("nan")


class Dot(NamedTuple):
    """A row.

    Attributes:
        model, kind, marker: as of a `Series`.
        name: perhaps shortened.
        x, y: of the dot.
        left, right: of the interval.
        ring: its place; None where there is none.
        text: what the dot says.
    """

    model: int
    kind: str
    marker: str
    name: str
    x: float
    y: float
    left: float
    right: float
    ring: float | None
    text: str


class Dots(NamedTuple):
    """A drawing of the width of `SMALL`.

    Attributes:
        width, height: of all of it.
        left, bottom: of the plot.
        ticks: places and texts below.
        axis: what the numbers are.
        rows: from the top down.
    """

    width: int
    height: float
    left: float
    bottom: float
    ticks: Sequence[tuple[float, str]]
    axis: str
    rows: Sequence[Dot]


def dots(
    measured: Sequence[Measured], models: Models, axis: str, room: tuple[float, float]
) -> Dots:
    """Draw numbers below each other, on an axis between round numbers that holds all of them.

    An interval that is longer than the axis ends with it.

    Args:
        measured: at least one; a value that is infinite is left out.
        models: how they are shown.
        axis: what the numbers are.
        room: that the axis does not leave; its end may be infinite.
    """
    measured = [one for one in measured if isfinite(one.value)]
    names = [shortened(models.names[one.label], LETTERS) for one in measured]
    left = 10 + LETTER * max(map(cell_len, names))
    right, plot = SMALL.width - MARGIN - 6, SMALL.height - TOP - UNDER
    row = max(ROWS[0], min(ROWS[1], plot / len(measured)))
    bottom = TOP + row * len(measured)
    ends = [end for one in measured for end in (one.value, one.low, one.high, one.ring)]
    finite = [end for end in ends if isfinite(end)]
    low, *_, high = ticks = ticks_around(max(room[0], min(finite)), min(room[1], max(finite)))
    scale = (right - left) / (high - low)

    def place(value: float) -> float:
        return left + scale * (min(max(value, low), high) - low)

    rows = [
        Dot(
            models.number(one.label),
            models.kind(one.label),
            models.marker(one.label),
            name,
            place(one.value),
            TOP + row * (number + 0.5),
            place(one.low),
            place(one.high),
            place(one.ring) if isfinite(one.ring) else None,
            one.text,
        )
        for number, (one, name) in enumerate(zip(measured, names, strict=True))
    ]
    texts = [(place(tick), f"{tick:g}") for tick in ticks]
    return Dots(SMALL.width, bottom + UNDER, left, bottom, texts, axis, rows)
