"""Which files of parts there are, and what is known of them without reading all of them.

A file holds one part, as it was evaluated, or a range of them, when all of the range were there:
``part-000007.parquet``, ``part-000000-000017.parquet``; of a shard, the range may be every eighth
part: ``part-000002-000506-by-8.parquet``. A file of fewer parts goes before one of more.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ..files.atomic import asked
from ..files.memory import forget, keep, recall
from ..files.source_code import suite_sha256
from ..files.stamp import Stamp, are_settled, stamp_of
from .schema import Status


class PartFile(NamedTuple):
    """A file that is there, and the parts that are read from it.

    Attributes:
        path: of the file.
        holds: the parts that are in it.
        parts: those among them that no narrower file holds, or some of these: after a second
            attempt at a part, and until both are one file, its own file has the records that count.
    """

    path: Path
    holds: range
    parts: range

    @property
    def whole(self) -> bool:
        """Whether all that it holds counts."""
        return self.parts == self.holds

    @property
    def positions(self) -> slice:
        """Where in the file those are that count."""
        return slice(self.holds.index(self.parts[0]), self.holds.index(self.parts[-1]) + 1)


def file_name(parts: range) -> str:
    """Of the file that holds these parts."""
    last = f"-{parts[-1]:06d}" if len(parts) > 1 else ""
    step = f"-by-{parts.step}" if last and parts.step > 1 else ""
    return f"part-{parts[0]:06d}{last}{step}.parquet"


def parts_in(name: str) -> range | None:
    """The parts that a file of this name holds; None for other names."""
    match = re.fullmatch(r"part-(\d{6,7})(?:-(\d{6,7})(?:-by-([1-9]\d{0,6}))?)?\.parquet", name)
    if match is None:
        return None
    parts = range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1))
    return parts if parts and file_name(parts) == name else None


def held_parts(folder: Path, count: int) -> dict[str, range]:
    """The names of all files of parts, in order, and what they hold.

    Args:
        folder: of the parts of an evaluation, whether it is there or not.
        count: how many parts the evaluation has; files of others are not its own.

    Raises:
        UserError: the folder cannot be looked into.
    """
    names = sorted(path.name for path in asked(folder, lambda: [*folder.iterdir()]) or [])
    files = ((name, parts_in(name)) for name in names)
    return {name: parts for name, parts in files if parts and parts[-1] < count}


def part_files(folder: Path, count: int) -> list[PartFile]:
    """The parts that are there and the files that have them, in order of the first part.

    Arguments and errors as of `held_parts`.
    """
    files = held_parts(folder, count)
    holder = dict[int, str]()
    for name in sorted(files, key=lambda name: -len(files[name])):  # the narrowest is last
        holder.update(dict.fromkeys(files[name], name))
    counting = dict[str, list[int]]()
    for part in sorted(holder):
        counting.setdefault(holder[part], []).append(part)
    return sorted(
        (
            PartFile(folder / name, files[name], parts)
            for name, some in counting.items()
            for parts in _ranges(some, files[name].step)
        ),
        key=lambda file: file.parts[0],
    )


def _ranges(parts: Sequence[int], step: int) -> Iterator[range]:
    """Sorted numbers as ranges of one step, to which all of them belong."""
    for _, run in groupby(enumerate(parts), lambda at: at[1] - step * at[0]):
        numbers = [part for _, part in run]
        yield range(numbers[0], numbers[-1] + 1, step)


def may_have_errors(path: Path) -> bool:
    """What the footer says of a part alone, for few have any: their statuses from first to last."""
    try:
        with pq.ParquetFile(path) as file:
            column = file.schema_arrow.names.index("status")
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        ranges = [group.column(column).statistics for group in groups]
        return any(not _excludes_errors(statistics) for statistics in ranges)
    except (OSError, ValueError, pa.ArrowException):
        return True  # read as a whole it says what is wrong


def _excludes_errors(statistics: "pq.Statistics | None") -> bool:
    if statistics is None or not statistics.has_min_max:
        return False
    low, high = statistics.min, statistics.max
    return not low <= Status.ERROR.value <= high


class Proofs:
    """Which files of an evaluation were read as a whole and were what was written, by their stamps.

    What a disk changes by itself does not show in these. Whoever reads the records finds that, and
    has to `forget`, so that the same eval finds and repairs it.

    Args:
        folder: of the parts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._state = folder, [suite_sha256(), pa.__version__]
        self._subject = f"parts {folder.resolve()}"
        kept = recall(self._subject, self._state) or {}
        self._proofs: dict[str, tuple[Stamp | None, str]] = {
            name: (Stamp(*stamp), belongs_to) for name, (stamp, belongs_to) in kept.items()
        }
        self._kept = dict(self._proofs)

    def has(self, file: Path, belongs_to: str) -> bool:
        """Whether a file is the one that was proved to be of these parts."""
        return self._proofs.get(file.name) == (stamp_of(file), belongs_to)

    def add(self, file: Path, stamp: Stamp | None, belongs_to: str) -> None:
        """A file was read; it had this stamp before."""
        self._proofs[file.name] = stamp, belongs_to

    def keep(self) -> None:
        """Keep them on disk: of files that are there, as they were, and not just written."""
        now = {
            name: proof
            for name, proof in self._proofs.items()
            if (stamp := proof[0])
            and stamp == stamp_of(self._folder / name)
            and are_settled([stamp])
        }
        if now != self._kept:
            keep(self._subject, self._state, now)
            self._kept = now

    def forget(self) -> None:
        """A file is not what was written after all."""
        self._proofs, self._kept = {}, {}
        forget(self._subject)


@cache
def proofs_in(folder: Path) -> Proofs:
    """The proofs of an evaluation, by the folder of its parts: one object in a process."""
    return Proofs(folder)
