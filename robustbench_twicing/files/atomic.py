"""Files that are either there in full or not at all, and whether something is there."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

from ..errors import UserError

ENDING = ".tmp"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems without hard links answer: FAT, some network and cloud drives."""


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write under a temporary name, flush to disk, then rename.

    Args:
        path: the final name; replaced if it exists.
        write: writes the content to the path it is given; what it returns is not looked at.

    Raises:
        UserError: the disk is full, the folder cannot be written to, ...
    """
    with _written(path, write) as temporary:
        temporary.replace(path)


def write_once(path: Path, write: Callable[[Path], object]) -> bool:
    """As `write_atomically`, but only the first of several writers succeeds.

    Returns:
        Whether this one was the first; otherwise the file is left as it is.
    """
    with _written(path, write) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if path.exists():
                return False
            temporary.replace(path)  # two writers at the same instant are not told apart here
    return True


@contextmanager
def _written(path: Path, write: Callable[[Path], object]) -> Iterator[Path]:
    """The content under a temporary name, on disk; the caller gives it its final name."""
    temporary = path.with_name(f".{path.name}.{token_hex(8)}{ENDING}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(temporary)
            _fsync(temporary)
            yield temporary
            _fsync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}; what was finished before is kept"
        ) from error


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_left_over(path: Path) -> bool:
    """Whether a file is what a killed writer left behind."""
    return path.name.startswith(".") and path.name.endswith(ENDING)


def final_name(path: Path) -> str:
    """The name of a file, or the one that its writer would have given it."""
    return (
        path.name[1:].removesuffix(ENDING).rpartition(".")[0] if is_left_over(path) else path.name
    )


Value = TypeVar("Value")
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def is_there(path: Path) -> bool:
    """Whether a path names something; links are followed.

    Raises:
        UserError: the system does not tell, as in a folder that may not be looked into.
    """
    return asked(path, lambda: bool(path.stat())) or False


def asked(path: Path, question: Callable[[], Value]) -> Value | None:
    """What the system answers about a path; None where there is nothing.

    Raises:
        UserError: it does not answer: no permission, a network that is gone, a broken disk.
    """
    try:
        return question()
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error


def is_free(path: Path) -> bool:
    """Whether nothing is there yet, or nothing but what killed writers left.

    Raises:
        UserError: the folder cannot be looked into.
    """
    entries = asked(path, lambda: list(path.iterdir()) if path.is_dir() else [path])
    return not is_there(path) or all(map(is_left_over, entries or []))
