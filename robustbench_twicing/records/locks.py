"""Which process works on which part, and who reads: locks that end with their process.

However it ends.
"""

import errno
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Self

from ..errors import UserError

try:
    import fcntl

    _locks: ModuleType | None = fcntl
except ImportError:  # not a POSIX system
    _locks = None

log = logging.getLogger(__name__)
FILE = ".owners"
"""Beside the parts; byte N of it is locked by the process that works on part N."""
_TAKEN = (errno.EACCES, errno.EAGAIN)
PATIENCE, POLL = 2.0, 0.05
"""Seconds for which files that give way to another wait for readers, and between two looks."""


@contextmanager
def reader(file: Path) -> Iterator[None]:
    """Inside, `sole_user` of the same file has to wait, in this process and in others.

    Where the file cannot be locked nobody is its sole user either.

    Args:
        file: that is there as long as what is read, like the manifest of a run.
    """
    with _locked(file, os.O_RDONLY, lambda lock, number: lock.flock(number, lock.LOCK_SH)):
        yield


@contextmanager
def sole_user(file: Path) -> Iterator[bool]:
    """Whether nobody is a `reader` inside, which is waited for, but not for long."""

    def wait(lock: ModuleType, number: int) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                lock.flock(number, lock.LOCK_EX | lock.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                time.sleep(POLL)
            else:
                return

    with _locked(file, os.O_RDWR, wait) as locked:
        yield locked


@contextmanager
def _locked(file: Path, mode: int, lock: Callable[[ModuleType, int], None]) -> Iterator[bool]:
    """Whether the lock was given; it is that of an open file, not of the process."""
    try:
        number = os.open(file, mode)
    except OSError:
        yield False
        return
    try:
        try:
            locked = _locks is not None
            if _locks is not None:
                lock(_locks, number)
        except OSError:
            locked = False
        yield locked
    finally:
        os.close(number)


@cache
def _say_once(folder: Path, reason: str) -> None:
    """In this process, which may claim parts of one folder several times."""
    log.warning(
        "%s: this file system has no locks (%s); give processes that work on this run at the same "
        "time a --shard each",
        *(folder, reason),
    )


class Ownership:
    """The claims of this process on the parts of one evaluation.

    POSIX record locks: they hold between processes of one machine and, on NFS, between machines;
    the system lifts them when their process ends, so a killed process owns nothing. Two threads of
    one process do not keep each other out. Where the file system has no locks, that is said once
    and everything may be claimed; processes then need a shard each (``--shard I/N``).

    Args:
        folder: of the parts; made if it is not there.

    Raises:
        UserError: the folder cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.possible = _locks is not None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UserError(f"{folder} cannot be written to: {error.strerror}") from error

    def claim(self, part: int, count: int = 1) -> bool:
        """Whether this process may work on a part, or on several one after the other.

        No other process may until they are released.
        """
        if _locks is None or not self.possible:
            return True
        try:
            _locks.lockf(self._file, _locks.LOCK_EX | _locks.LOCK_NB, count, part)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            self._say_impossible(error)
        return True

    def _say_impossible(self, error: OSError) -> None:
        self.possible = False
        _say_once(self.folder, error.strerror)

    def release(self, part: int, count: int = 1) -> None:
        """Let others have a part, or several one after the other."""
        if _locks is None or not self.possible:
            return
        try:
            _locks.lockf(self._file, _locks.LOCK_UN, count, part)
        except OSError as error:
            self._say_impossible(error)

    def wait(self, part: int, stopped: Callable[[], bool]) -> bool:
        """Whether nobody else works on a part any more, which is asked until ``stopped``.

        Whoever has claims meanwhile may be waited for by the process that is waited for here.
        """
        while not self.claim(part):
            if stopped():
                return False
            time.sleep(POLL)
        self.release(part)
        return True

    @contextmanager
    def alone(self, parts: range) -> Iterator[bool]:
        """Whether nobody else works on some parts inside, as only locks can tell."""
        rows = [(parts[0], len(parts))] if parts.step == 1 else [(part, 1) for part in parts]
        claimed = [*takewhile(lambda row: self.claim(*row), rows)]
        try:
            yield claimed == rows and self.possible
        finally:
            for row in claimed:
                self.release(*row)

    def claimed(self, parts: Iterable[int], is_written: Callable[[int], bool]) -> Iterator[int]:
        """Those parts that are not written and that nobody else works on, claimed one by one.

        Args:
            parts: in the order of work.
            is_written: whether a part has been written.
        """
        for part in parts:
            if is_written(part) or not self.claim(part):
                continue
            if is_written(part):  # finished by another process between the two questions
                self.release(part)
            else:
                yield part

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._file)
