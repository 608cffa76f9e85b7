"""What one pair of axes may show, and the legend beside them."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.legend import Legend

from robustbench_twicing.errors import UserError

from .lettering import lettering

ONE_COLUMN = 22
"""Names that fit under each other."""
LINE = 0.155
"""Height of a line of text, inches; the space between names is a quarter of it."""


class Panel(NamedTuple):
    """What one pair of axes may show: results of one data set under one protocol.

    Attributes:
        results: columns of `COLUMNS`, one row per label and condition.
        dataset: its name.
        protocol: its name.
    """

    results: pd.DataFrame
    dataset: str
    protocol: str

    @property
    def images(self) -> str:
        """How many images were scored, like ``100 images`` or ``99-100 images``."""
        scored = self.results.loc[self.results["status"] == "ok", "n_images"]
        if scored.empty:
            return "no images scored"
        low, high = int(scored.min()), int(scored.max())
        noun = "image" if high == 1 else "images"
        return f"{high} {noun}" if low == high else f"{low}-{high} {noun}"

    @property
    def place(self) -> str:
        """Data set, number of images and protocol, as they stand in every title."""
        return f"{self.dataset}, {self.images}, protocol {self.protocol}"


def panel(results: pd.DataFrame) -> Panel:
    """Check that results may share axes.

    Raises:
        UserError: several data sets or protocols, or one condition of a label twice.
    """
    places = results[["dataset", "protocol"]].drop_duplicates()
    if len(places) != 1:
        several = ", ".join(f"{dataset}/{protocol}" for dataset, protocol in places.to_numpy())
        raise UserError(f"one picture shows one data set and protocol, not {several or 'none'}")
    twice = results[results.duplicated(["label", "condition"])]
    if len(twice):
        row = twice.iloc[0]
        raise UserError(f"{row['label']} has two results under {row['condition']}; give one")
    return Panel(results, str(places.iloc[0, 0]), str(places.iloc[0, 1]))


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
