"""Parts with error rows, computed again: what failed for an outside reason has not failed for ever.

A finished part keeps all rows but those of errors. These take the values of a second attempt, which
draws the random numbers of the first: an error that is the attack's own is there again.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ..conditions.condition import Condition
from ..files.printable import name_some
from ..records.cost import Cost
from ..records.failures import failed_parts, failed_rows, keys_and_positions, stamp_of
from ..records.manifest import Evaluation
from ..records.parts import PartRecords
from ..records.run_folder import RunFolder
from .options import Shard
from .rows import in_order

log = logging.getLogger(__name__)


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
        shard: the parts of this process.
        attempted: counts the error rows that are computed again.

    Attributes:
        parts: of the shard, in the order of work.
        failed: those that are there and have error rows.
    """

    def __init__(
        self, folder: RunFolder, evaluation: Evaluation, shard: Shard, attempted: Attempted
    ) -> None:
        self.folder, self.evaluation = folder, evaluation
        self.parts = shard.parts(range(folder.part_count(evaluation)))
        self.failed = failed_parts(folder, evaluation, self.parts)
        self._conditions = folder.manifest.conditions_of(evaluation)
        self._attempted = attempted

    def is_finished(self, part: int) -> bool:
        """It is there; one with error rows only where another process has replaced it since."""
        if part not in self.failed:
            return self.folder.is_there(self.evaluation, part)
        return stamp_of(self.folder.part_path(self.evaluation, part)) != self.failed[part].stamp

    def groups(self) -> Iterator[tuple[frozenset[str], list[int]]]:
        """Parts under all conditions (no keys), then those with errors under the same ones."""
        groups: dict[frozenset[str], list[int]] = {frozenset(): []}
        for part in self.parts:
            keys = frozenset(self.failed[part].failed if part in self.failed else ())
            groups.setdefault(keys, []).append(part)
        yield from groups.items()

    def records(self, part: int, compute: Callable[..., PartRecords]) -> PartRecords:
        """The records of a part; of one that is there, error rows alone are new.

        Args:
            part: its number.
            compute: evaluates it; with ``again``, only those images under those conditions.
        """
        if part not in self.failed:
            return compute()
        old = self.folder.part(self.evaluation, part)
        now = failed_again(old, compute(again=failed_rows(old.table)), self._conditions)
        self._attempted.add(old, now)
        return now


def failed_again(
    old: PartRecords, new: PartRecords, conditions: Sequence[Condition]
) -> PartRecords:
    """A part with the second attempt's rows in place of its error rows.

    Args:
        old: the part as it was.
        new: rows of the second attempt, of the images that had failed among others.
        conditions: all, in the order of the record.

    Returns:
        Costs of both attempts: what the second one took is charged to the conditions that failed,
        with the clean pass and the budgets that are computed beside them.
    """
    failed = failed_rows(old.table)
    replaced = {
        (key, position)
        for key, position in keys_and_positions(new.table)
        if position in failed.get(key, ())
    }
    kept = [place not in replaced for place in keys_and_positions(old.table)]
    again = [place in replaced for place in keys_and_positions(new.table)]
    table = in_order([old.table.filter(kept), new.table.filter(again)], conditions)
    costs = {key: Cost(**vars(cost)) for key, cost in old.costs.items()}
    first = next(condition.key for condition in conditions if condition.key in failed)
    for key, cost in new.costs.items():
        costs.setdefault(key if key in failed else first, Cost()).add(cost)
    flags = tuple(dict.fromkeys([*old.flags, *new.flags]))
    return PartRecords(table, costs, flags)
