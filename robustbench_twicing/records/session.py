"""The work of one process on a run folder, which leaves nothing behind where it did nothing."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from ..errors import UserError
from ..files.atomic import is_there
from .locks import FILE as OWNERS
from .manifest import PARTS, SESSIONS, SETTINGS, Evaluation
from .parts import DamagedPartError
from .run_folder import RunFolder


@contextmanager
def session(folder: RunFolder, environment: dict[str, Any]) -> Iterator[None]:
    """Note the machine and versions of this process; inside, it works on the run.

    A mistake that shows only in the work, like labels that are not the model's classes, leaves no
    folder behind in which nobody has computed anything.

    Args:
        folder: of the run.
        environment: see `describe_environment`.

    Raises:
        UserError: it cannot be written to.
    """
    note: Path | None = None
    try:
        note = folder.add_session(environment)
        yield
    except UserError:
        _leave_no_trace(folder.path, note)
        raise


def _leave_no_trace(folder: Path, note: Path | None) -> None:
    """Take a folder away that holds no work, and in which no other process is noted."""
    parts = folder / PARTS
    try:
        if {path.name for path in folder.iterdir()} - {SETTINGS, SESSIONS, PARTS}:
            return
        below = sorted(parts.rglob("*"), reverse=True)  # what is in a folder comes before it
        if any(path.name != OWNERS for path in below if not path.is_dir()):
            return
        if note is not None:
            note.unlink()
            note.parent.rmdir()
        for path in below:
            path.rmdir() if path.is_dir() else path.unlink()
        if parts.is_dir():
            parts.rmdir()
        (folder / SETTINGS).unlink()  # last: until then the run could still be continued
        folder.rmdir()
    except OSError:
        return  # another process works here, or nothing can be written any more


log = logging.getLogger(__name__)
ASIDE = ".damaged-"
"""Between the name of a part and a random ending."""


def quarantine_damaged_parts(
    folder: RunFolder, evaluation: Evaluation, parts: Iterable[int]
) -> None:
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
            folder.part(evaluation, part)
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
