"""What one pair of axes may show: results of one data set under one protocol."""

from typing import NamedTuple

import pandas as pd

from robustbench_twicing.errors import UserError


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
        found = ", ".join(f"{dataset}/{protocol}" for dataset, protocol in places.to_numpy())
        raise UserError(f"one picture shows one data set and protocol, not {found or 'none'}")
    twice = results[results.duplicated(["label", "condition"])]
    if len(twice):
        row = twice.iloc[0]
        raise UserError(f"{row['label']} has two results under {row['condition']}; give one")
    return Panel(results, str(places.iloc[0, 0]), str(places.iloc[0, 1]))
