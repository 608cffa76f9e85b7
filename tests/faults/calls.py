"""What a process asks the system for: one of its calls fails, or is its last."""

import errno
import fcntl
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

Answer = Callable[[str], None]
"""Told of a call before it is made; what it raises is the system's answer."""
NEW = os.O_CREAT | os.O_WRONLY | os.O_RDWR
PATHS = (
    *((os, name) for name in ("link", "mkdir", "replace", "rename", "rmdir", "unlink")),
    *((os, name) for name in ("listdir", "open", "stat")),
    (io, "open"),
    (pq, "ParquetFile"),
    (pq, "ParquetWriter"),
)
"""Calls whose first argument is a path."""
OTHERS = (
    (os, "fsync"),
    (fcntl, "flock"),
    (fcntl, "lockf"),
    (pq.ParquetWriter, "write_table"),
    (pq.ParquetWriter, "__exit__"),
)
"""Calls that only what is tested makes."""
REMOVAL = ("unlink", "rmdir")
NO_ROOM = (*("link", "mkdir", "replace", "rename", "fsync"), *("write_table", "__exit__", "new"))
"""What needs room on a disk; ``new`` opens a file to write to it."""
READ_ONLY = (*NO_ROOM, *REMOVAL)


@contextmanager
def watched(place: Path, answer: Answer) -> Iterator[None]:
    """Inside, ``answer`` hears of every call about a path below a folder, by its name."""

    def heard(function: Callable[..., Any], name: str, *, of_path: bool) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if not of_path or _is_below(args[0], place):
                answer("new" if _opens_to_write(name, *args, **options) else name)
            return function(*args, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for calls in (PATHS, OTHERS):
            for owner, name in calls:
                function = heard(getattr(owner, name), name, of_path=calls is PATHS)
                patch.setattr(owner, name, function)
        yield


def _is_below(path: object, place: Path) -> bool:
    return isinstance(path, str | Path) and Path(path).is_relative_to(place)


def _opens_to_write(name: str, *args: Any, **options: Any) -> bool:
    if name == "ParquetWriter":
        return True
    mode = options.get("mode", args[1] if len(args) > 1 else "r")
    return name == "open" and (mode & NEW if isinstance(mode, int) else mode[0] in "wax+") != 0


class Failing:
    """The system's answers to one call after the other, counted from 1.

    Args:
        at: the number of the call from which on it fails.
        code: of the error; a full or write-protected disk stays so, other errors are of one call.

    Attributes:
        calls: how many were made.
    """

    def __init__(self, at: int, code: int) -> None:
        self.at, self.code, self.calls = at, code, 0
        full = {errno.ENOSPC: NO_ROOM, errno.EDQUOT: NO_ROOM, errno.EROFS: READ_ONLY}
        self._lasts = full.get(code)

    def __call__(self, name: str) -> None:
        """Raises the error where it is due."""
        self.calls += 1
        lasting = self._lasts is not None and self.calls >= self.at and name in self._lasts
        if lasting or (self._lasts is None and self.calls == self.at):
            raise OSError(self.code, os.strerror(self.code))
