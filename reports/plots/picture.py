"""A picture, what is said of it, and its files."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from itertools import tee
from pathlib import Path

from matplotlib.figure import Figure

from robustbench_twicing.files.atomic import write_atomically

from ..text.file_names import told_apart
from .lettering import styled

FORMATS = ("png", "pdf", "svg")
WITHOUT_DATE = {"pdf": "CreationDate", "svg": "Date"}
"""What is left out, so that equal results give equal files."""


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


def save_pictures(drawn: Iterable[Picture], folder: Path) -> list[Path]:
    """Write each picture in all `FORMATS`, named after it; names that are alike are numbered.

    PNG files hold the title and what the picture shows, as ``Title`` and ``Description``.

    Raises:
        UserError: the folder cannot be written to.
    """
    for_names, to_save = tee(drawn)  # drawn one by one: each is gone when the next is there
    named = zip(told_apart(picture.name for picture in for_names), to_save, strict=True)
    return [_save(picture, folder, name, form) for name, picture in named for form in FORMATS]


def _metadata(picture: Picture, ending: str) -> dict[str, str | None]:
    if ending != "png":
        return {WITHOUT_DATE[ending]: None}
    said = {"Title": picture.title, "Description": picture.alt}
    # Names may hold halves of surrogate pairs, which UTF-8 has no bytes for.
    return {key: text.encode("utf-8", "backslashreplace").decode() for key, text in said.items()}


def _save(picture: Picture, folder: Path, name: str, ending: str) -> Path:
    path = folder / f"{name}.{ending}"
    content = BytesIO()  # Matplotlib's own writers say nothing of a full disk
    with styled():
        picture.figure.savefig(content, format=ending, metadata=_metadata(picture, ending))
    write_atomically(path, lambda temporary: temporary.write_bytes(content.getvalue()))
    return path
