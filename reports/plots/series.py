"""What tells series apart: colour, marker, line style and filling, each alone enough for many.

The colours keep apart under all common kinds of colour blindness (seven from the palettes of Okabe
and Ito, and of Paul Tol; a brown), and stand out from white by 3:1 or more.
"""

from collections.abc import Sequence
from typing import NamedTuple

COLOURS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#882255", "#C04CFD", "#332288", "#702000")
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

    The first eight differ in colour and in marker. No two of 64 share both, nor, for black and
    white, all of marker, line style and filling.
    """
    turn = number // len(COLOURS)
    marker = number + turn
    return Look(
        COLOURS[number % len(COLOURS)],
        MARKERS[marker % len(MARKERS)],
        LINES[(marker + turn) % len(LINES)],
        turn // len(LINES) % 2 == 0,
        HATCHES[number % len(HATCHES)],
    )


def looks(labels: Sequence[str]) -> dict[str, Look]:
    """A look for each label, by its place in the order."""
    return {label: look(number) for number, label in enumerate(dict.fromkeys(labels))}
