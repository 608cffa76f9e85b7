"""Files that are either there in full or not there at all."""

import os
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

ENDING = ".tmp"


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Write under a temporary name, flush to disk, then rename.

    Args:
        path: the final name; replaced if it exists.
        write: writes the content to the path it is given.
    """
    temporary = path.with_name(f".{path.name}.{token_hex(8)}{ENDING}")
    try:
        write(temporary)
        _fsync(temporary)
        temporary.replace(path)
        _fsync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_left_over(path: Path) -> bool:
    """Whether a file is what a killed writer left behind."""
    return path.name.startswith(".") and path.name.endswith(ENDING)
