"""Progress of long work: what the runner reports, and to whom."""

from collections.abc import Callable
from typing import NamedTuple


class Step(NamedTuple):
    """Work just finished.

    Attributes:
        label: the model.
        condition: the condition; empty for a whole part.
        images: images finished under all conditions, 0 while a part is under way.
        units: network passes finished, in forward-pass equivalents.
        resumed: the work was found done in the run folder, not done now.
    """

    label: str
    condition: str
    images: int
    units: float
    resumed: bool = False


Report = Callable[[Step], None]


def silent(step: Step) -> None:
    """Report to nobody."""
