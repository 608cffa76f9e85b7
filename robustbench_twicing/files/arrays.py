"""Numpy's files as data: nothing pickled, and nothing that unpacks to far more than the file."""

import math
import os
import weakref
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnreadableError, UserError
from .regular import check_regular
from .stamp import Stamp

LARGEST_GROWTH = 100
"""Times its size that an archive may unpack to; photographs hardly shrink, drawings tenfold."""
HARMLESS_SIZE = 64 * 2**20
"""Bytes that any archive may unpack to."""
_ZIP = b"PK"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""By version of the format; the third is for names of fields alone."""


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
    size = check_regular(path).st_size
    try:
        content = zipfile.ZipFile(path)
    except Exception as error:  # zipfile raises anything on damaged bytes
        raise UserError(
            f"{path} is not a numpy file of plain numbers (a damaged zip archive: {error})"
        ) from error
    with content:
        unpacked = sum(entry.file_size for entry in content.infolist())
        if unpacked > max(HARMLESS_SIZE, LARGEST_GROWTH * size):
            raise UserError(
                f"{path} unpacks to {unpacked:,} bytes from {size:,}: a zip bomb, or images that "
                "are all alike; save it with numpy.savez, which does not compress"
            )
        yield Archive(path, content)


class ArrayFile:
    """The array of a ``.npy``, read from disk row by row, as large as it may be.

    It is read, not mapped: a mapped file that somebody cuts short would end the process. The file
    stays open, so it may be deleted or replaced meanwhile; each process opens it for itself.

    Args:
        path: of the file.

    Attributes:
        shape: of the array.
        dtype: of its numbers.

    Raises:
        UserError: damaged, or not made of plain numbers.
    """

    def __init__(self, path: Path) -> None:
        stamp = Stamp.of(check_regular(path))
        self.path, self._written = path, stamp.as_written
        try:
            with path.open("rb") as file:
                read_header = _HEADERS[np.lib.format.read_magic(file)]
                self.shape, self._fortran, self.dtype = read_header(file)
                self._start = file.tell()
            self._check_size(stamp.size - self._start)
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
        except Exception as error:  # numpy raises anything on damaged bytes
            raise UserError(f"{path} is not a numpy file of plain numbers ({error})") from error

    def _check_size(self, available: int) -> None:
        """Raise ValueError for objects, which are pickled, and for a file that is too short."""
        if self.dtype.hasobject:
            raise ValueError("it holds Python objects")
        needed = math.prod(self.shape) * self.dtype.itemsize
        strange = any(type(length) is not int or length < 0 for length in self.shape)
        if strange or needed > available:
            raise ValueError(f"shape {self.shape} needs {needed:,} bytes, and it has {available:,}")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, row: int) -> NDArray[Any]:
        """One row, counted from 0; a copy.

        Raises:
            IndexError: there is no such row.
            UnreadableError: the file is not the one any more that was opened first.
        """
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        if self._fortran:
            return np.array(self.whole[row])
        count = math.prod(self.shape[1:])
        values = self._read(row * count, count)
        return values.reshape(self.shape[1:])

    @cached_property
    def whole(self) -> NDArray[Any]:
        """All of it, kept in memory; rows in Fortran's order, not in one piece, need that."""
        values = self._read(0, math.prod(self.shape))
        return values.reshape(self.shape, order="F" if self._fortran else "C")

    def _read(self, first: int, count: int) -> NDArray[Any]:
        values = np.empty(count, self.dtype)
        view, at = values.view(np.uint8).data, self._start + first * self.dtype.itemsize
        try:
            if Stamp.of(os.fstat(self._file)).as_written != self._written:
                raise UnreadableError(f"{self.path} was changed after it was opened")
            while view:  # the system hands out 2 GB at most at a time
                done = os.preadv(self._file, [view], at)
                if not done:
                    raise UnreadableError(f"{self.path} was cut short after it was opened")
                view, at = view[done:], at + done
        except OSError as error:
            raise UnreadableError(
                f"{self.path} cannot be read: {error.strerror or error}"
            ) from error
        return values

    @cached_property
    def _file(self) -> int:
        descriptor = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, descriptor)
        return descriptor

    def __getstate__(self) -> dict[str, Any]:
        """Without the open file and what was read of it, which each process has for itself."""
        state = self.__dict__.items()
        return {name: value for name, value in state if name not in ("_file", "whole")}
