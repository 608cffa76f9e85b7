"""Whether something is there: yes, no, or the system does not say, which is neither."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import UserError
from .atomic import is_left_over

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
