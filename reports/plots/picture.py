"""A picture and what is said of it."""

from dataclasses import dataclass

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure and what is said of it.

    Attributes:
        name: as a file name without its ending; short, so that two may have the same.
        title: one line.
        alt: what it shows, for those who do not see it.
        figure: drawn; to be saved inside `styled`.
    """

    name: str
    title: str
    alt: str
    figure: Figure
