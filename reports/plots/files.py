"""Pictures as files."""

from collections.abc import Iterable
from io import BytesIO
from itertools import tee
from pathlib import Path

from robustbench_twicing.files.atomic import write_atomically

from ..text.file_names import told_apart
from .lettering import styled
from .picture import Picture

FORMATS = ("png", "pdf", "svg")
WITHOUT_DATE = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
"""So that equal results give equal files."""


def save_pictures(drawn: Iterable[Picture], folder: Path) -> list[Path]:
    """Write each picture in all `FORMATS`, named after it; names that are alike are numbered.

    Raises:
        UserError: the folder cannot be written to.
    """
    one, other = tee(drawn)  # drawn one by one: each is gone when the next is there
    named = zip(told_apart(picture.name for picture in one), other, strict=True)
    return [_save(each, folder, name, ending) for name, each in named for ending in FORMATS]


def _save(picture: Picture, folder: Path, name: str, ending: str) -> Path:
    path = folder / f"{name}.{ending}"
    content = BytesIO()  # Matplotlib's own writers say nothing of a full disk
    with styled():
        picture.figure.savefig(content, format=ending, metadata=WITHOUT_DATE[ending])
    write_atomically(path, lambda temporary: temporary.write_bytes(content.getvalue()))
    return path
