"""The work of one process on a run folder: noted, and its files looked after.

What is damaged is set aside, many small files become one, and nothing is left behind where nothing
was done.
"""

import json
import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import pyarrow as pa

from ..errors import UserError
from ..files.atomic import final_name, write_atomically
from .locks import FILE as OWNERS
from .locks import Ownership, sole_user
from .manifest import PARTS, SESSIONS, SETTINGS, Evaluation
from .part_files import PartFile, file_name, parts_in
from .parts import DamagedPartError, PartRecords, read_parts, write_parts
from .run_folder import RunFolder

log = logging.getLogger(__name__)
ASIDE = ".damaged-"
"""Between the name of a file and a random ending."""
FEW = 16
"""Files of a range that stay as they are."""
MOST_RECORDS = 2**18
"""Of a file of several parts."""
FEWEST_PARTS, MOST_RANGES = 64, 32
"""Of a range, and of an evaluation, as far as `MOST_RECORDS` allows."""


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
        note = add_session(folder, environment)
        yield
    except UserError:
        _leave_no_trace(folder.path, note)
        raise


def add_session(folder: RunFolder, environment: dict[str, Any]) -> Path:
    """Note the machine and versions of a process that works on a run; the file."""
    text = json.dumps(environment, indent=1, ensure_ascii=False) + "\n"
    # Containers number their processes alike, so time and process are not unique.
    name = f"{environment['started'].replace(':', '')}-{token_hex(4)}.json"
    note = folder.path / SESSIONS / name
    write_atomically(note, lambda file: file.write_text(text, encoding="utf-8"))
    return note


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


def quarantine_damaged_parts(
    folder: RunFolder, evaluation: Evaluation, parts: Sequence[int], first: Collection[int]
) -> None:
    """Read the parts that are there, and rename the files that are not what was written.

    Nothing is deleted: what can still be read of such a file may matter to its owner.

    Args:
        folder: of the run.
        evaluation: as in its manifest.
        parts: of this process and of those that share its work.
        first: of this process alone, which checks files whose first of ``parts`` is one of them.

    Raises:
        UserError: the system cannot read or rename a file.
    """
    shared, first = set(parts), set(first)
    with folder.reading():
        for file in folder.files(evaluation):
            if next((part for part in file.parts if part in shared), None) not in first:
                continue
            try:
                folder.read(evaluation, file)
            except DamagedPartError as error:
                aside = _rename(file.path)
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


def compact(folder: RunFolder, evaluation: Evaluation, stopped: Callable[[], bool]) -> None:
    """Make one file of every range of parts that is all there, also what was left of a killed try.

    Args:
        folder: of the run; one that may only be read stays as it is.
        evaluation: as in its manifest.
        stopped: asked before every range whether to end there.
    """
    ranges = list(_ranges(folder, evaluation))
    due = [parts for parts in ranges if _is_due(folder.files(evaluation), parts)]
    if due and os.access(folder.parts_folder(evaluation), os.W_OK):
        with folder.owner(evaluation) as owner:
            for parts in due:
                if not stopped():
                    _compact(folder, evaluation, parts, owner)


def compact_around(folder: RunFolder, evaluation: Evaluation, part: int, owner: Ownership) -> None:
    """Make one file of the range of a part, if all of it is there.

    Args:
        folder: of the run.
        evaluation: as in its manifest.
        part: that was written just now.
        owner: has no claims on other parts that have been written.
    """
    (parts,) = (parts for parts in _ranges(folder, evaluation) if part in parts)
    if _is_due(folder.files(evaluation), parts):
        _compact(folder, evaluation, parts, owner)


def _ranges(folder: RunFolder, evaluation: Evaluation) -> Iterator[range]:
    """Of parts that become one file each."""
    count = folder.part_count(evaluation)
    most = MOST_RECORDS // (folder.manifest.part_size * max(1, len(evaluation.conditions)))
    length = max(1, min(most, max(FEWEST_PARTS, -(-count // MOST_RANGES))))
    for first in range(0, count, length):
        yield range(first, min(first + length, count))


def _is_due(files: Sequence[PartFile], parts: range) -> bool:
    """Whether a range is all there, in more files than need be."""
    inside = [one for one in files if one.parts[0] in parts or one.parts[-1] in parts]
    held = sum(len(file.parts) for file in inside)
    if held < len(parts) or not all(_within(file.holds, parts) for file in inside):
        return False
    return len(inside) > FEW or not all(file.whole for file in inside)


def _within(inner: range, outer: range) -> bool:
    return inner[0] in outer and inner[-1] in outer


def _compact(folder: RunFolder, evaluation: Evaluation, parts: range, owner: Ownership) -> None:
    """Without locks, with which alone nobody writes meanwhile, the parts stay as they are."""
    if not owner.claim(parts[0], len(parts)):
        return
    try:
        # Another process may have done it between the two questions.
        if owner.possible and _is_due(folder.files(evaluation), parts):
            folder.check_still_there()
            _join(folder, evaluation, parts)
    except (UserError, OSError) as error:
        log.warning("parts %d to %d stay in small files: %s", parts[0], parts[-1], error)
    finally:
        owner.release(parts[0], len(parts))


def _join(folder: RunFolder, evaluation: Evaluation, parts: range) -> None:
    """One file in the place of others, which are removed once it was read back from the disk."""
    path = folder.parts_folder(evaluation) / file_name(parts)
    records = [of_part for _, of_part in folder.some_parts(evaluation, parts)]
    belongs_to = folder.belongs_to(evaluation, parts)
    write_atomically(path, lambda file: _write_proved(file, records, belongs_to))
    with sole_user(folder.path / SETTINGS) as nobody_reads:
        for other in path.parent.iterdir() if nobody_reads else ():
            held = parts_in(final_name(other))
            if held and _within(held, parts) and other != path:
                other.unlink(missing_ok=True)


def _write_proved(path: Path, parts: Sequence[PartRecords], belongs_to: str) -> None:
    write_parts(path, parts, belongs_to)
    with path.open("rb") as file:
        os.fsync(file)
        if hasattr(os, "posix_fadvise"):  # what is read back is to come from the disk
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    written = read_parts(path).split()
    if not all(map(_are_equal, parts, written)):
        raise UserError(f"{path} has not what was written; look whether the disk is sound")


def _are_equal(old: PartRecords, new: PartRecords) -> bool:
    columns = zip(old.table.columns, new.table.columns, strict=True)
    same = all(_bits(before).equals(_bits(after)) for before, after in columns)
    return same and old[1:] == new[1:]


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as they are, and numbers bit by bit: one that is none does not equal itself."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        bits = [chunk.view(pa.int64()) for chunk in column.chunks]
        return pa.chunked_array(bits, pa.int64())
    return column
