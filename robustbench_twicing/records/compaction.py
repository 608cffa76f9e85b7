"""Many small files of parts become few, and whenever that ends, no record is lost or there twice.

The new file is written beside them, read back from the disk and compared before it is renamed, and
only then they go.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa

from ..errors import UserError
from ..files.atomic import asked, final_name, is_left_over, write_atomically
from ..files.stamp import stamp_of
from .locks import Ownership, sole_user
from .manifest import SETTINGS, Evaluation
from .part_files import file_name, held_parts, parts_in, proofs_in
from .parts import PartRecords, read_parts, write_parts
from .run_folder import RunFolder

log = logging.getLogger(__name__)
FEW = 16
"""Parts of an evaluation that stay as they are."""
MOST_RECORDS = 2**18
"""Of a file of several parts."""
FEWEST_PARTS, MOST_RANGES = 64, 32
"""Of a range, and of an evaluation, as far as `MOST_RECORDS` allows."""


def compact(
    folder: RunFolder, evaluation: Evaluation, stopped: Callable[[], bool], shards: int = 1
) -> None:
    """Make one file of every range of parts that is all there, and remove what killed writers left.

    Args:
        folder: of the run; one that may only be read stays as it is.
        evaluation: as in its manifest.
        stopped: asked before every range whether to end there.
        shards: of the run, as far as this process knows: a folder may hold every so many-th part.

    Raises:
        UserError: the folder cannot be looked into.
    """
    place = folder.parts_folder(evaluation)
    due = [*_Held.now(folder, evaluation).due(shards)]
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


def compact_around(
    folder: RunFolder, evaluation: Evaluation, part: int, owner: Ownership, shards: int = 1
) -> None:
    """Make one file of a range with this part, if all of it is there.

    Args:
        folder: of the run.
        evaluation: as in its manifest.
        part: that was written just now.
        owner: has no claims on other parts that have been written.
        shards: as of `compact`.
    """
    for parts in _Held.now(folder, evaluation).due(shards):
        if part in parts:
            _compact(folder, evaluation, parts, owner)


class _Layout(NamedTuple):
    """Which parts may become one file: so many neighbours, or as many of a shard.

    Attributes:
        total: of all parts; too few of them stay as they are.
        length: of a range.
    """

    total: int
    length: int

    @classmethod
    def of(cls, folder: RunFolder, evaluation: Evaluation) -> Self:
        """That of an evaluation, whoever works on it."""
        count = folder.part_count(evaluation)
        most = MOST_RECORDS // (folder.manifest.part_size * max(1, len(evaluation.conditions)))
        return cls(count, max(1, min(most, max(FEWEST_PARTS, -(-count // MOST_RANGES)))))

    def block(self, parts: range) -> range:
        """The parts among which a range has every one, or every so many-th."""
        size = self.length * parts.step
        first = parts[0] // size * size
        return range(first, min(first + size, self.total))

    def ranges(self, step: int) -> Iterator[range]:
        """All of one step, block by block."""
        for number in range(0, self.total if self.total > FEW else 0, self.length * step):
            block = self.block(range(number, number + 1, step))
            yield from (range(first, block.stop, step) for first in block[:step])


class _Held(NamedTuple):
    """What the files hold that are there, whether it counts or not.

    Attributes:
        layout: of the evaluation.
        files: what each of them holds.
        by_part: those that hold a part.
    """

    layout: _Layout
    files: Sequence[range]
    by_part: Mapping[int, Sequence[range]]

    @classmethod
    def now(cls, folder: RunFolder, evaluation: Evaluation) -> Self:
        """By one look into the folder."""
        layout, by_part = _Layout.of(folder, evaluation), dict[int, list[range]]()
        with folder.reading():
            files = [*held_parts(folder.parts_folder(evaluation), layout.total).values()]
        for parts in files:
            for part in parts:
                by_part.setdefault(part, []).append(parts)
        return cls(layout, files, by_part)

    @property
    def joined(self) -> Sequence[range]:
        """Of files with several parts."""
        return [parts for parts in self.files if len(parts) > 1]

    def is_due(self, parts: range) -> bool:
        """Whether a range is all there, in more files than need be.

        No two files share some of their parts, of which the records of one might be older. Nor do
        two steps share a block, where ranges of both would have gaps that nothing fills.
        """
        if not all(part in self.by_part for part in parts):
            return False
        files = {held for part in parts for held in self.by_part[part]}
        block = self.layout.block(parts)
        return (
            len(files) > 1
            and all(map(set(parts).issuperset, files))
            and not any(
                held.step != parts.step and _meet(self.layout.block(held), block)
                for held in self.joined
            )
        )

    def due(self, shards: int) -> Iterator[range]:
        """Of neighbours, and of shards whose number this process knows or the files say.

        Where several are in the way of each other, that is decided by which comes first.
        """
        for step in dict.fromkeys([1, shards, *(parts.step for parts in self.joined)]):
            yield from filter(self.is_due, self.layout.ranges(step))


def _meet(first: range, second: range) -> bool:
    return max(first.start, second.start) < min(first.stop, second.stop)


def _compact(folder: RunFolder, evaluation: Evaluation, parts: range, owner: Ownership) -> None:
    """Without locks, with which alone nobody writes meanwhile, the parts stay as they are."""
    try:
        with owner.alone(parts) as alone:
            # Another process may have done it between the two questions.
            if alone and _Held.now(folder, evaluation).is_due(parts):
                folder.check_still_there()
                _join(folder, evaluation, parts)
    except (UserError, OSError) as error:
        log.warning("parts %d to %d stay in small files: %s", parts[0], parts[-1], error)


def _join(folder: RunFolder, evaluation: Evaluation, parts: range) -> None:
    """One file in the place of others, which are removed once it was read back from the disk."""
    path = folder.parts_folder(evaluation) / file_name(parts)
    there = dict(folder.some_parts(evaluation, parts))
    if len(there) < len(parts):  # somebody removes the folder, or moves it
        raise UserError(f"{path.parent} had all of them, and has {len(there)} by now")
    belongs_to, records = folder.belongs_to(evaluation, parts), [there[part] for part in parts]
    write_atomically(path, lambda file: _write_proved(file, records, belongs_to))
    with sole_user(folder.path / SETTINGS) as nobody_reads:
        given_way = _inside(path.parent, parts) if nobody_reads else []
        for other in given_way:
            if other != path:
                other.unlink(missing_ok=True)
    proofs = proofs_in(folder.parts_folder(evaluation))
    proofs.add(path, stamp_of(path), belongs_to)
    proofs.keep()


def _inside(folder: Path, parts: range) -> list[Path]:
    """Files of some of these parts, half written or not, in the order in which they may go.

    A wider file goes first: what it holds may be older than what the narrower one does.
    """
    held = [(parts_in(final_name(path)), path) for path in folder.iterdir()]
    inside = [(len(of), path) for of, path in held if of and set(parts).issuperset(of)]
    return [path for _, path in sorted(inside, reverse=True)]


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
