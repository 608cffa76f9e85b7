"""One legend for a picture, beside its axes, so that it hides nothing."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.legend import Legend

from .lettering import lettering

ONE_COLUMN = 22
"""Names that fit under each other."""
LINE = 0.155
"""Height of a line of text, inches; the space between names is a quarter of it."""


def legend_height(labels: Sequence[str]) -> float:
    """Inches that the axes should be high for the legend to end where they do."""
    lines = sum(lettering(label).count("\n") + 1.25 for label in labels)
    return LINE * lines / max(1, -(-len(labels) // ONE_COLUMN)) + 1.0


def outside_legend(ax: Axes) -> Legend | None:
    """Put the legend to the right of the axes; None where nothing was drawn.

    Save with ``bbox_inches="tight"``, as the package's style does, and nothing is cut off.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return None
    return ax.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        ncols=-(-len(labels) // ONE_COLUMN),
    )
