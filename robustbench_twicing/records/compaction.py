"""Many small files of parts become few, and whenever that ends, no record is lost or there twice.

The new file is written beside them, read back from the disk and compared before it is renamed, and
only then they go.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from ..errors import UserError
from ..files.atomic import asked, final_name, is_left_over, write_atomically
from ..files.stamp import stamp_of
from .locks import Ownership, sole_user
from .manifest import SETTINGS, Evaluation
from .part_files import PartFile, file_name, parts_in, proofs_in
from .parts import PartRecords, read_parts, write_parts
from .run_folder import RunFolder

log = logging.getLogger(__name__)
FEW = 16
"""Files of a range that stay as they are."""
MOST_RECORDS = 2**18
"""Of a file of several parts."""
FEWEST_PARTS, MOST_RANGES = 64, 32
"""Of a range, and of an evaluation, as far as `MOST_RECORDS` allows."""


def compact(folder: RunFolder, evaluation: Evaluation, stopped: Callable[[], bool]) -> None:
    """Make one file of every range of parts that is all there, and remove what killed writers left.

    Args:
        folder: of the run; one that may only be read stays as it is.
        evaluation: as in its manifest.
        stopped: asked before every range whether to end there.

    Raises:
        UserError: the folder cannot be looked into.
    """
    files, place = folder.files(evaluation), folder.parts_folder(evaluation)
    due = [parts for parts in _ranges(folder, evaluation) if _is_due(files, parts)]
    left = [path for path in asked(place, lambda: [*place.iterdir()]) or [] if is_left_over(path)]
    if not (due or left) or not os.access(place, os.W_OK):
        return
    try:
        with folder.owner(evaluation) as owner:
            for path in left:
                _remove_left_over(path, owner)
            for parts in due:
                if not stopped():
                    _compact(folder, evaluation, parts, owner)
    except (UserError, OSError) as error:
        log.warning("parts stay in small files: %s", error)


def _remove_left_over(path: Path, owner: Ownership) -> None:
    """Unless its writer still works on these parts, or without locks nobody can tell."""
    parts = parts_in(final_name(path))
    if parts:
        with owner.alone(parts) as alone:
            if alone:
                path.unlink(missing_ok=True)


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
    try:
        with owner.alone(parts) as alone:
            # Another process may have done it between the two questions.
            if alone and _is_due(folder.files(evaluation), parts):
                folder.check_still_there()
                _join(folder, evaluation, parts)
    except (UserError, OSError) as error:
        log.warning("parts %d to %d stay in small files: %s", parts[0], parts[-1], error)


def _join(folder: RunFolder, evaluation: Evaluation, parts: range) -> None:
    """One file in the place of others, which are removed once it was read back from the disk."""
    path = folder.parts_folder(evaluation) / file_name(parts)
    records = [of_part for _, of_part in folder.some_parts(evaluation, parts)]
    if len(records) < len(parts):  # somebody removes the folder, or moves it
        raise UserError(f"{path.parent} had all of them, and has {len(records)} by now")
    belongs_to = folder.belongs_to(evaluation, parts)
    write_atomically(path, lambda file: _write_proved(file, records, belongs_to))
    with sole_user(folder.path / SETTINGS) as nobody_reads:
        for other in path.parent.iterdir() if nobody_reads else ():
            held = parts_in(final_name(other))
            if held and _within(held, parts) and other != path:
                other.unlink(missing_ok=True)
    proofs = proofs_in(folder.parts_folder(evaluation))
    proofs.add(path, stamp_of(path), belongs_to)
    proofs.keep()


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
