"""Whether something is there: yes, no, or the system does not say, which is neither."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import UserError

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
