"""What tests of `report` have in common."""

import csv
import io
from typing import Protocol

RADII = ("curves.csv", "radii.csv")
"""Written beside results.csv where there are attacks."""


class Evaluated(Protocol):
    """Put a finished run into the site's folder."""

    def __call__(self, *arguments: str, out: str = "run") -> None:
        """``arguments`` of eval; ``out`` names the run's folder."""


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))
