"""The work of one process on a run folder, which leaves nothing behind where it did nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import UserError
from .ownership import FILE as OWNERS
from .settings import PARTS, SESSIONS, SETTINGS
from .store import RunFolder


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
