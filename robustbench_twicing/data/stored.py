"""Named bytes, wherever they lie: a file, a member of a tar archive, a row of a Parquet file.

Decoding, fingerprint, cache and labels see `Stored` alone, so that every form of a data set takes
the same way.
"""

from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from ..errors import UnreadableError, UserError
from ..files.regular import check_regular
from ..files.stamp import Stamp

LARGEST_FILE = 2**30
"""Bytes; so many pixels are less, even where nothing compresses them."""


class Stored(Protocol):
    """One image as it is stored; ``str`` of it names the place in messages."""

    @property
    def id(self) -> str:
        """Its name within the data set: a posix path below the root of folder or archive."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    def open(self) -> BinaryIO:
        """Its content, from its beginning, to read and seek in.

        Raises:
            UnreadableError: the system does not hand it out, or it is not what it was before.
        """
        ...

    def stamp(self) -> Stamp:
        """How a later change shows.

        Raises:
            OSError: the system does not tell.
        """
        ...


class ImageFile(NamedTuple):
    """A file: posix path relative to the root, where that is, size in bytes."""

    id: str
    root: Path
    size: int

    @property
    def path(self) -> Path:
        """Where it is; made when it is asked for, which most files of a large folder never are."""
        return self.root / self.id

    def open(self) -> BinaryIO:
        """See `Stored`."""
        try:
            check_regular(self.path, LARGEST_FILE)
            return self.path.open("rb")
        except UserError as error:
            raise UnreadableError(str(error)) from error
        except OSError as error:
            raise UnreadableError(f"{self.path} cannot be read: {error.strerror}") from error

    def stamp(self) -> Stamp:
        """See `Stored`."""
        return Stamp.of(self.path.stat())

    def __str__(self) -> str:
        return str(self.path)


def read(stored: Stored) -> bytes:
    """All of its bytes.

    Raises:
        UnreadableError: see `Stored.open`.
    """
    try:
        with stored.open() as stream:
            return stream.read()
    except OSError as error:
        raise UnreadableError(f"{stored} cannot be read: {error.strerror}") from error
