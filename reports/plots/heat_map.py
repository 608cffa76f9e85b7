"""Percentages as a map of numbers."""

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

COLOURS = "Blues"
"""One hue, the darker the more: alike for all kinds of colour vision, and in print."""
BRIGHT = 0.18
"""Relative luminance above which black stands out more than white (WCAG 2.1)."""


def heat_map(
    ax: Axes, numbers: NDArray[np.float64], *, down: Sequence[str], across: Sequence[str]
) -> None:
    """Draw numbers between 0 and 100, each in its cell; where there is none, it is hatched.

    Args:
        ax: where to.
        numbers: (R, C).
        down: names of the rows, as they are drawn.
        across: names of the columns.
    """
    ax.imshow(numbers, cmap=COLOURS, vmin=0, vmax=100, aspect="auto")
    for (row, column), number in np.ndenumerate(numbers):
        _write(ax, row, column, number)
    ax.set_xticks(range(len(across)), list(across))
    ax.set_yticks(range(len(down)), list(down))
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)


def _write(ax: Axes, row: int, column: int, number: float) -> None:
    if np.isnan(number):
        box = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor="white", hatch="////")
        box.set(edgecolor="#999999", linewidth=0)
        ax.add_patch(box)
        return
    red, green, blue = (_linear(channel) for channel in colormaps[COLOURS](number / 100)[:3])
    colour = "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > BRIGHT else "white"
    ax.text(column, row, f"{number:.1f}", ha="center", va="center", color=colour, fontsize=8)


def _linear(channel: float) -> float:
    """An sRGB channel in [0, 1] as light (its exact curve, but for the darkest values)."""
    return float(((channel + 0.055) / 1.055) ** 2.4)
