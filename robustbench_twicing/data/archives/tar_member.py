"""A member of a tar archive, read by its place in the file."""

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ...errors import UnreadableError
from ...files.stamp import Stamp
from ..stored import LARGEST_FILE


@dataclass(frozen=True)
class Tar:
    """An archive as it was when its members were listed.

    Attributes:
        path: of the file.
        at: its stamp.
        root: folders that all its images lie in and that ids leave out, with a slash; or empty.
        prefix: what ids have before the name.
    """

    path: Path
    at: Stamp
    root: str = ""
    prefix: str = ""


class TarMember(NamedTuple):
    """A file within an archive, as `Stored` describes it: its bytes are at ``offset``."""

    id: str
    tar: Tar
    offset: int
    size: int

    def open(self) -> BinaryIO:
        """See `Stored`."""
        if self.size > LARGEST_FILE:
            raise UnreadableError(f"{self} has {self.size:,} bytes; an image has fewer")
        try:
            return io.BufferedReader(_Window(self))
        except OSError as error:
            raise UnreadableError(f"{self} cannot be read: {error.strerror}") from error

    def stamp(self) -> Stamp:
        """See `Stored`; the archive's times."""
        return Stamp.of(self.tar.path.stat())._replace(size=self.size)

    def __str__(self) -> str:
        return f"{self.tar.path}/{self.tar.root}{self.id.removeprefix(self.tar.prefix)}"


class _Window(io.RawIOBase):
    """The bytes of a member; every reader has its own, so processes and threads share nothing."""

    def __init__(self, member: TarMember) -> None:
        self._member, self._at = member, 0
        self._file = os.open(member.tar.path, os.O_RDONLY)
        if Stamp.of(os.fstat(self._file)).on_any_mount != member.tar.at.on_any_mount:
            self.close()
            raise UnreadableError(f"{member.tar.path} was changed after it was opened")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._member.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")[: max(0, self._member.size - self._at)]
        done = os.preadv(self._file, [view], self._member.offset + self._at) if view else 0
        if view and not done:
            raise UnreadableError(f"{self._member.tar.path} was cut short after it was opened")
        self._at += done
        return done

    def readall(self) -> bytes:
        parts = bytearray(max(0, self._member.size - self._at))
        view = memoryview(parts)
        while view:
            view = view[self.readinto(view) :]
        return bytes(parts)

    def close(self) -> None:
        if not self.closed:
            os.close(self._file)
        super().close()
