"""Progress of a run: what is told of finished work, and whether to end before all is done."""

import time
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
        key: of the condition, unique where a run has several protocols.
    """

    label: str
    condition: str
    images: int
    units: float
    resumed: bool = False
    key: str = ""


Report = Callable[[Step], None]


def silent(step: Step) -> None:
    """Report to nobody."""


OUT_OF_TIME = "out of time"


class Stop:
    """Asked before every part whether to go on.

    Args:
        deadline: in seconds of `time.monotonic`; a part that would not be done by then, judged by
            the longest one so far, is not started.

    Attributes:
        reason: why the run ends early, in a few words; empty while it goes on.
    """

    def __init__(self, deadline: float | None = None) -> None:
        self.reason = ""
        self._deadline = deadline
        self._longest = 0.0
        self._began = time.monotonic()

    def ask(self, reason: str) -> None:
        """Start no further part; the first reason stays."""
        self.reason = self.reason or reason

    def part_begins(self) -> None:
        """The work on a model, or on its next part, starts now."""
        self._began = time.monotonic()

    def part_ends(self) -> None:
        """The part that was begun is written."""
        self._longest = max(self._longest, time.monotonic() - self._began)
        self.part_begins()

    @property
    def now(self) -> bool:
        """Whether no further part is to be started."""
        late = self._deadline is not None and time.monotonic() + self._longest > self._deadline
        if late:
            self.ask(OUT_OF_TIME)
        return bool(self.reason)
