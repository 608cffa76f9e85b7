"""The drawing of one model's differences with their intervals: where its template puts what."""

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

from rich.cells import cell_len

from ...text.shortening import shortened
from .matrix import signed

WIDTH, TOP, ROW, UNDER = 600, 6, 18.5, 24
LETTERS = 28
"""Of the name of a condition."""
LETTER = 6.2
"""Width of one."""
VALUES = 44
"""Room for the numbers at the right."""
MOST_TICKS = 9
STEPS = (1, 2, 5, 10, 20, 50)
"""Points between two ticks."""


class Measured(NamedTuple):
    """A difference and its interval in points, and whether it is significant."""

    difference: float
    low: float
    high: float
    is_sure: bool


class Mark(NamedTuple):
    """A line of the drawing: a condition, and what was measured; None where that was not compared.

    Attributes:
        y: of its middle.
        name: the condition, perhaps shortened; ``words`` is all of it.
        x, left, right: of the point and of the ends of its interval.
        text: the difference.
        is_sure: whether it is significant.
    """

    y: float
    name: str
    words: str
    x: float = 0.0
    left: float = 0.0
    right: float = 0.0
    text: str = ""
    is_sure: bool = False


class Axis(NamedTuple):
    """Where differences are in a drawing.

    Attributes:
        zero: where no difference is.
        scale: units of the drawing in a point.
        ticks: places and texts below.
    """

    zero: float
    scale: float
    ticks: Sequence[tuple[float, str]]


class Forest(NamedTuple):
    """A drawing; its width is `WIDTH`.

    Attributes:
        left, bottom: of the plot.
        axes: for each baseline; the first is that of the marks.
        marks: a line each.
    """

    left: float
    bottom: float
    axes: Sequence[Axis]
    marks: Sequence[Mark]

    @property
    def height(self) -> float:
        """Of all of it."""
        return self.bottom + UNDER


def forest(
    names: Sequence[str],
    shown: Sequence[Measured | None],
    reaches: Sequence[tuple[float, float]],
    digits: int,
) -> Forest:
    """Draw the differences of one model to one baseline, with the axes for others.

    Args:
        names: of the conditions.
        shown: of each condition.
        reaches: for each baseline lowest and highest end of all intervals, in points.
        digits: decimals of the numbers.
    """
    short = [shortened(name, LETTERS) for name in names]
    left = 12 + LETTER * max(map(cell_len, short), default=0)
    axes = [_axis(reach, left) for reach in reaches]
    marks = []
    for number, (name, words, measured) in enumerate(zip(short, names, shown, strict=True)):
        mark = Mark(TOP + ROW * (number + 0.5), name, words)
        if measured is not None:
            x, start, end = (axes[0].zero + axes[0].scale * value for value in measured[:3])
            text = signed(measured.difference, digits)
            mark = mark._replace(x=x, left=start, right=end, text=text, is_sure=measured.is_sure)
        marks.append(mark)
    return Forest(left, TOP + ROW * len(names), axes, marks)


def _axis(reach: tuple[float, float], left: float) -> Axis:
    """An axis with few ticks, 0 among them, from the left to where the numbers stand."""
    low, high = min(reach[0], 0.0), max(reach[1], 0.0)
    step = next(step for step in STEPS if ceil(high / step) - floor(low / step) < MOST_TICKS)
    first, last = step * floor(low / step), step * ceil(high / step)
    last += step * (first == last)
    scale = (WIDTH - VALUES - left) / (last - first)
    zero = left - scale * first
    values = range(first, last + 1, step)
    return Axis(zero, scale, [(zero + scale * value, signed(value, 0)) for value in values])
