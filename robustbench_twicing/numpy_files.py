"""Numpy's files as data: nothing pickled, and nothing that unpacks to far more than the file."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import UserError
from .regular_files import check_regular

LARGEST_GROWTH = 100
"""Times its size that an archive may unpack to; photographs hardly shrink, drawings tenfold."""
HARMLESS_SIZE = 64 * 2**20
"""Bytes that any archive may unpack to."""
_ZIP = b"PK"


class Archive:
    """The arrays of a ``.npz``, each read when it is asked for.

    Args:
        path: for messages.
        content: the archive.
    """

    def __init__(self, path: Path, content: zipfile.ZipFile) -> None:
        self.path = path
        self._content = content
        self.names = [name.removesuffix(".npy") for name in content.namelist()]

    def read(self, name: str) -> NDArray[Any]:
        """One array.

        Raises:
            UserError: it is damaged, or not made of plain numbers.
        """
        try:
            with self._content.open(f"{name}.npy") as file:
                array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        except Exception as error:  # zipfile and numpy raise anything on damaged bytes
            raise UserError(
                f"{self.path}: {name!r} is not an array of plain numbers ({error})"
            ) from error
        return array


def is_archive(path: Path) -> bool:
    """Whether a file is a ``.npz`` by its first bytes.

    Raises:
        UserError: it cannot be read.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            return file.read(len(_ZIP)) == _ZIP
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """A ``.npz`` to read arrays from.

    Raises:
        UserError: damaged, or a zip bomb.
    """
    check_regular(path)
    try:
        content = zipfile.ZipFile(path)
    except Exception as error:  # zipfile raises anything on damaged bytes
        raise UserError(
            f"{path} is not a numpy file of plain numbers (a damaged zip archive: {error})"
        ) from error
    with content:
        unpacked = sum(entry.file_size for entry in content.infolist())
        size = path.stat().st_size
        if unpacked > max(HARMLESS_SIZE, LARGEST_GROWTH * size):
            raise UserError(
                f"{path} unpacks to {unpacked:,} bytes from {size:,}: a zip bomb, or images that "
                "are all alike; save it with numpy.savez, which does not compress"
            )
        yield Archive(path, content)


def map_array(path: Path) -> NDArray[Any]:
    """A ``.npy``, memory-mapped.

    Raises:
        UserError: damaged, or not made of plain numbers.
    """
    check_regular(path)
    try:
        with np.errstate(over="raise"):  # a shape that overflows
            array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # numpy raises anything on damaged bytes
        raise UserError(f"{path} is not a numpy file of plain numbers ({error})") from error
    return array
