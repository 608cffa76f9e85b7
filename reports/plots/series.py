"""What tells series apart: colour, marker, line style and filling, each alone enough for many.

The colours keep apart under all common kinds of colour blindness (from the palettes of Okabe and
Ito, and of Paul Tol), and stand out from white by 3:1 or more.
"""

from collections.abc import Sequence
from typing import NamedTuple

COLOURS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#882255", "#C04CFD", "#332288")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "--", "||")


class Look(NamedTuple):
    """How one series is drawn.

    Attributes:
        colour: of lines, markers and areas.
        marker: matplotlib's code.
        line: matplotlib's line style.
        filled: whether the marker is filled with the colour, or white.
        hatch: pattern of bars.
    """

    colour: str
    marker: str
    line: str
    filled: bool
    hatch: str

    @property
    def face(self) -> str:
        """Colour inside the marker."""
        return self.colour if self.filled else "white"


def look(number: int) -> Look:
    """The look of the number-th series, from 0.

    No two of 56 share colour and marker. In black and white, no two of 64 share marker, line style
    and filling.
    """
    return Look(
        COLOURS[number % len(COLOURS)],
        MARKERS[number % len(MARKERS)],
        LINES[(number + number // len(MARKERS)) % len(LINES)],
        number // (len(MARKERS) * len(LINES)) % 2 == 0,
        HATCHES[number % len(HATCHES)],
    )


def looks(labels: Sequence[str]) -> dict[str, Look]:
    """A look for each label, by its place in the order."""
    return {label: look(number) for number, label in enumerate(dict.fromkeys(labels))}
