"""Pictures as files."""

from collections.abc import Iterable
from pathlib import Path

from robustbench_twicing.records.atomic import write_atomically

from .lettering import styled
from .picture import Picture

FORMATS = ("png", "pdf", "svg")
WITHOUT_DATE = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
"""So that equal results give equal files."""


def save_pictures(drawn: Iterable[Picture], folder: Path) -> list[Path]:
    """Write each picture in all `FORMATS`, named after it.

    Raises:
        UserError: the folder cannot be written to.
    """
    return [_save(picture, folder, ending) for picture in drawn for ending in FORMATS]


def _save(picture: Picture, folder: Path, ending: str) -> Path:
    path = folder / f"{picture.name}.{ending}"

    def write(temporary: Path) -> None:
        with styled():
            picture.figure.savefig(temporary, format=ending, metadata=WITHOUT_DATE[ending])

    write_atomically(path, write)
    return path
