"""Files that are opened because somebody named them: regular ones, of a size that can be read."""

import os
import stat
from pathlib import Path

from ..errors import UserError


def check_regular(path: Path, largest: int | None = None) -> os.stat_result:
    """Refuse what cannot be read as a file: opening a pipe would wait for ever.

    Args:
        path: a file; links are followed.
        largest: bytes.

    Returns:
        What the system says of it.

    Raises:
        UserError: missing, a directory, a pipe or a device, or larger.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{path} cannot be read: {reason}") from error
    if stat.S_ISDIR(status.st_mode):
        raise UserError(f"{path} cannot be read: it is a directory, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise UserError(f"{path} cannot be read: it is a pipe, a device or a socket, not a file")
    if largest is not None and status.st_size > largest:
        raise UserError(f"{path} has {status.st_size:,} bytes; such a file has {largest:,} at most")
    return status
