"""What the same command computes again: damaged files, and error rows of finished parts.

What failed for an outside reason has not failed for ever. A finished part keeps all other rows; an
error that is the attack's own is there again.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UserError
from ..files.printable import name_some
from ..files.stamp import Stamp, stamp_of
from .cost import Cost
from .locks import Ownership
from .manifest import Evaluation
from .part_files import may_have_errors, proofs_in
from .parts import DamagedPartError, PartRecords
from .run_folder import RunFolder
from .schema import Status

log = logging.getLogger(__name__)
ASIDE = ".damaged-"
"""Between the name of a file and a random ending."""
Positions = Mapping[str, frozenset[int]]
"""By the key of a condition, positions of images in the data set."""


def quarantine_damaged_parts(
    folder: RunFolder, evaluation: Evaluation, parts: Sequence[int], first: Collection[int]
) -> None:
    """Read the files that are not proved yet, and rename those that are not what was written.

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
    proofs = proofs_in(folder.parts_folder(evaluation))
    with folder.reading():
        for file in folder.files(evaluation):
            if next((part for part in file.parts if part in shared), None) not in first:
                continue
            stamp, belongs_to = stamp_of(file.path), folder.belongs_to(evaluation, file.holds)
            if proofs.has(file.path, belongs_to):
                continue
            try:
                folder.read(evaluation, file)
                proofs.add(file.path, stamp, belongs_to)
            except DamagedPartError as error:
                aside = _rename(file.path)
                if aside is not None:
                    log.warning("%s; it is now %s", error, aside.name)
    proofs.keep()


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


class FailedPart(NamedTuple):
    """A finished part with error rows.

    Attributes:
        stamp: of its file.
        costs: of all attempts. Where the file is another one now, they tell whether another process
            has computed the part again, or has only put it into a larger file.
        failed: the images that ended in an error, by condition.
    """

    stamp: Stamp | None
    costs: Mapping[str, Cost]
    failed: Positions


def failed_parts(
    folder: RunFolder, evaluation: Evaluation, parts: Iterable[int]
) -> dict[int, FailedPart]:
    """Those parts that are there and have error rows; damaged ones are no matter here.

    Raises:
        UserError: the system cannot read a part.
    """
    wanted, failures = set(parts), dict[int, FailedPart]()
    with folder.reading():
        for file in folder.files(evaluation):
            if wanted.isdisjoint(file.parts) or not may_have_errors(file.path):
                continue
            stamp = stamp_of(file.path)
            try:
                records = folder.read(evaluation, file).split()
            except DamagedPartError:
                continue
            for part, of_part in zip(file.parts, records, strict=True):
                if part in wanted and (failed := failed_rows(of_part.table)):
                    failures[part] = FailedPart(stamp, of_part.costs, failed)
    return failures


def failed_rows(table: pa.Table) -> Positions:
    """The images that ended in an error, among some records."""
    errors = table.filter(pc.equal(table["status"], Status.ERROR.value))
    positions: dict[str, set[int]] = {}
    for key, position in keys_and_positions(errors):
        positions.setdefault(key, set()).add(position)
    return {key: frozenset(images) for key, images in positions.items()}


def keys_and_positions(table: pa.Table) -> Iterator[tuple[str, int]]:
    """Of every record the key of its condition and the position of its image."""
    names = (table[name].to_pylist() for name in ("protocol", "condition", "index"))
    for protocol, condition, position in zip(*names, strict=True):
        yield f"{protocol}:{condition}", position


class Attempted:
    """How many error rows were tried again, for one line about them."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.left: Counter[str] = Counter()

    def add(self, old: PartRecords, now: PartRecords) -> None:
        """A part was computed again."""
        for counter, records in ((self.rows, old), (self.left, now)):
            counter.update({key: len(rows) for key, rows in failed_rows(records.table).items()})

    def say(self) -> None:
        """How it went, where anything was tried."""
        if self.rows:
            names = name_some([key.partition(":")[2] for key in self.rows])
            rows, left = self.rows.total(), self.left.total()
            log.warning(
                "%d error rows were computed again (%s): %d are errors again, %d have values now",
                *(rows, names, left, rows - left),
            )


class Work:
    """Which parts of an evaluation are to be computed, and under which conditions.

    Args:
        folder: of the run.
        evaluation: as in its manifest.
        parts: those of this process, in the order of work.
        attempted: counts the error rows that are computed again.

    Attributes:
        failed: those that are there and have error rows.
    """

    def __init__(
        self,
        folder: RunFolder,
        evaluation: Evaluation,
        parts: Sequence[int],
        attempted: Attempted,
    ) -> None:
        self.folder, self.evaluation, self.parts = folder, evaluation, parts
        self.failed = failed_parts(folder, evaluation, self.parts)
        self._attempted = attempted

    def is_finished(self, part: int) -> bool:
        """It is there; one with error rows only where another process has replaced it since."""
        if part not in self.failed:
            return self.folder.is_there(self.evaluation, part)
        before = self.failed[part]
        with self.folder.reading():
            file = self.folder.file_of(self.evaluation, part)
            if file is not None and stamp_of(file.path) == before.stamp:
                return False
        return self.folder.part(self.evaluation, part).costs != before.costs

    def groups(
        self, owner: Ownership, stopped: Callable[[], bool]
    ) -> Iterator[tuple[frozenset[str], list[int]]]:
        """Parts under all conditions (no keys), then those with errors under the same ones.

        At the end once more those that another process had, be it only for the seconds in which it
        made one file of many.

        Args:
            owner: has no claims when the next group is asked for.
            stopped: asked whether to wait no longer.
        """
        groups: dict[frozenset[str], list[int]] = {frozenset(): []}
        for part in self.parts:
            keys = frozenset(self.failed[part].failed if part in self.failed else ())
            groups.setdefault(keys, []).append(part)
        yield from groups.items()
        for keys, parts in groups.items():
            left = [part for part in parts if keys and self._is_left(part, owner, stopped)]
            if left:
                yield keys, left

    def _is_left(self, part: int, owner: Ownership, stopped: Callable[[], bool]) -> bool:
        return (
            not self.is_finished(part) and owner.wait(part, stopped) and not self.is_finished(part)
        )

    def records(self, part: int, compute: Callable[..., PartRecords]) -> PartRecords:
        """The records of a part; of one that is there, error rows alone are new.

        Args:
            part: its number.
            compute: evaluates it; with ``old``, its error rows alone.
        """
        if part not in self.failed:
            return compute()
        old = self.folder.part(self.evaluation, part)
        now = compute(old=old)
        self._attempted.add(old, now)
        return now
