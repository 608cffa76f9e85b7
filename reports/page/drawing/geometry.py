"""Where things are in a drawing of accuracy over budgets; its units are those of the drawing."""

from collections.abc import Sequence
from math import isnan, log

from matplotlib.ticker import MaxNLocator

MOST_STEPS = 5
"""Between round numbers on an axis."""
FIRST_PART = 0.2
"""Of a logarithmic axis, from 0 to the smallest budget, where it is linear."""
MARKERS = {
    "o": "m-3.7 0a3.7 3.7 0 1 0 7.4 0a3.7 3.7 0 1 0-7.4 0Z",
    "s": "m-3.3-3.3h6.6v6.6h-6.6Z",
    "^": "m0-4.4 4.2 7.4h-8.4Z",
    "D": "m0-4.5 4.5 4.5-4.5 4.5-4.5-4.5Z",
    "v": "m0 4.4 4.2-7.4h-8.4Z",
    "P": "m-1.4-4.3h2.8v2.9h2.9v2.8h-2.9v2.9h-2.8v-2.9h-2.9v-2.8h2.9Z",
    "X": "m0-1.9 2.2-2.2 1.9 1.9-2.2 2.2 2.2 2.2-1.9 1.9-2.2-2.2-2.2 2.2-1.9-1.9 2.2-2.2-2.2-2.2 "
    "1.9-1.9Z",
    "*": "m0-4.8 1.2 3.2 3.4 0.1-2.7 2.1 0.9 3.3-2.8-1.9-2.8 1.9 0.9-3.3-2.7-2.1 3.4-0.1Z",
}
"""Outlines around a point, by matplotlib's codes, to go on with in an SVG path."""


def budget_place(budget: float, budgets: Sequence[float], *, wide: bool) -> float:
    """Where a budget is between 0 and the largest one, as a share from 0 to 1.

    Args:
        budget: one of ``budgets``, or 0.
        budgets: ascending, above 0.
        wide: whether the axis is logarithmic above the smallest budget.
    """
    if not budgets:
        return 0.0
    smallest, largest = budgets[0], budgets[-1]
    if not wide:
        return budget / largest
    if budget <= smallest:
        return FIRST_PART * budget / smallest
    return FIRST_PART + (1 - FIRST_PART) * log(budget / smallest) / log(largest / smallest)


def line(points: Sequence[tuple[float, float]]) -> str:
    """An SVG path through points; a point whose height is NaN is a gap."""
    parts: list[str] = []
    pen = "M"
    for x, y in points:
        if isnan(y):
            pen = "M"
            continue
        parts.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return "".join(parts)


def apart(heights: Sequence[float], gap: float, top: float, bottom: float) -> list[float]:
    """Heights of labels, as near as may be to those wanted, but moved apart.

    Neighbours that are closer than ``gap`` become a block around their mean, which stays between
    ``top`` and ``bottom``. The order is kept; of equal heights the first is the upper one. Where
    there is no room for all gaps, all are equally smaller.

    Args:
        heights: wanted, from the top down; in any order.
        gap: between neighbours.
        top: of the room; the smaller number.
        bottom: of the room.
    """
    if len(heights) > 1:
        gap = min(gap, (bottom - top) / (len(heights) - 1))
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    blocks: list[list[int]] = []
    starts: list[float] = []
    for place in order:
        block = [place]
        start = _start(block, heights, gap, top, bottom)
        while blocks and start < starts[-1] + len(blocks[-1]) * gap:
            block = blocks.pop() + block
            starts.pop()
            start = _start(block, heights, gap, top, bottom)
        blocks.append(block)
        starts.append(start)
    moved = [0.0] * len(heights)
    for block, start in zip(blocks, starts, strict=True):
        for number, place in enumerate(block):
            moved[place] = start + number * gap
    return moved


def _start(
    block: Sequence[int], heights: Sequence[float], gap: float, top: float, bottom: float
) -> float:
    """The uppermost height of a block around the mean of those wanted."""
    length = (len(block) - 1) * gap
    mean = sum(heights[place] for place in block) / len(block)
    return max(top, min(mean - length / 2, bottom - length))


def thinned(places: Sequence[float], gap: float) -> list[int]:
    """Which of ascending places are at least ``gap`` apart; the first and the last always are.

    Args:
        places: of ticks.
        gap: that their texts need.
    """
    chosen: list[int] = []
    for number, place in enumerate(places):
        is_last = number == len(places) - 1
        while is_last and len(chosen) > 1 and place - places[chosen[-1]] < gap:
            chosen.pop()
        if not chosen or is_last or place - places[chosen[-1]] >= gap:
            chosen.append(number)
    return chosen


def ticks_around(low: float, high: float) -> list[float]:
    """Round numbers, ascending, of which the first and the last enclose a range.

    Args:
        low: of the range, at least 0.
        high: of the range; where it is ``low``, the range is of length 1, and begins below it.
    """
    if low == high:
        low, high = (low - 1, high) if low >= 1 else (0.0, 1.0)
    locator = MaxNLocator(MOST_STEPS, steps=[1, 2, 2.5, 5, 10])
    return [round(float(tick), 9) for tick in locator.tick_values(low, high)]
