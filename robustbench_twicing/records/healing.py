"""Continuing a run: parts that are damaged are kept under another name, and computed anew."""

import logging
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex

from ..errors import UserError
from ..files.atomic import is_there
from .manifest import Evaluation
from .reading import DamagedPartError
from .store import RunFolder

log = logging.getLogger(__name__)
ASIDE = ".damaged-"
"""Between the name of a part and a random ending."""


def set_aside_damaged(folder: RunFolder, evaluation: Evaluation, parts: Iterable[int]) -> None:
    """Read the parts that are there, and rename those that are not what was written.

    Nothing is deleted: what can still be read of such a file may matter to its owner.

    Raises:
        UserError: the system cannot read or rename a part.
    """
    for part in parts:
        path = folder.part_path(evaluation, part)
        if not is_there(path):
            continue
        try:
            folder.check_part(evaluation, part)
        except DamagedPartError as error:
            aside = _rename(path)
            if aside is not None:
                log.warning("%s; it is now %s", error, aside.name)


def _rename(path: Path) -> Path | None:
    """The new name; None where another process was first."""
    aside = path.with_name(f"{path.name}{ASIDE}{token_hex(4)}")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(
            f"{path} is damaged and cannot be renamed: {error.strerror}; take it away"
        ) from error
    return aside
