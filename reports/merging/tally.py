"""Sums over all blocks of records."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import fsum, isfinite

import numpy as np
from numpy.typing import NDArray

from robustbench_twicing.records.schema import MOST_DRAWS, Status

from .blocks import BITS, Block, Plan, Unscored
from .columns import STATUSES, Marks
from .counts import Answers, Counts, RightBits
from .features import HASHES, MARKS, VALUES
from .nearest import Nearest

MOST_BITS = 2**32
"""Of one tally."""


class Tally:
    """Sums over all blocks so far, of the columns of a plan.

    Attributes:
        plan: what the columns are.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        columns = plan.columns
        self._statuses = np.zeros((len(STATUSES), columns), np.int64)
        self._marks = np.zeros((len(MARKS) + MOST_DRAWS, columns), np.int64)
        self._values = np.full((len(VALUES), columns), -np.inf)
        self._hashes = np.zeros((len(HASHES), columns), np.uint64)
        self._changes: list[NDArray[np.float64]] = []
        self._packed: list[tuple[int, NDArray[np.uint8] | None]] = []
        self._answers: list[tuple[NDArray[np.uint64], Mapping[int, NDArray[np.int32]]]] = []
        self._unscored: Unscored = {}
        self._partly = [np.zeros(len(ensemble.budgets), bool) for ensemble in plan.ensembles]
        self._nearest: list[list[Nearest]] = [[] for _ in plan.ensembles]

    def add(self, block: Block) -> None:
        """Add a block, of images that no other block has."""
        self._statuses += block.sums.statuses
        self._marks[: len(block.sums.marks)] += block.sums.marks
        np.maximum(self._values, block.sums.values, out=self._values)
        self._hashes ^= block.sums.hashes
        self._changes.append(block.sums.change)
        self._packed.append((block.first, block.bits))
        self._answers.append((block.sums.hashes[HASHES.index("answers")], block.answers))
        for kind, first in block.unscored.items():
            self._unscored[kind] = min(first, self._unscored.get(kind, first))
        for partly, more in zip(self._partly, block.partly, strict=True):
            partly |= more
        for blocks, distances in zip(self._nearest, block.nearest, strict=True):
            blocks.append(distances)

    def counts(self, column: int) -> Counts:
        """Of one column."""
        statuses = dict(zip(STATUSES, self._statuses[:, column].tolist(), strict=True))
        absent = statuses[Status.SKIPPED], statuses[Status.ERROR], statuses[Status.MISSING]
        counts = Counts(*absent, statuses[Status.INHERITED], statuses[Status.OK])
        if not counts.scored:
            return counts
        in_all, draws = np.split(self._marks[:, column], [len(MARKS)])
        marks = dict(zip(MARKS, in_all.tolist(), strict=True))
        largest = self._values[:, column]
        known = np.where(largest == -np.inf, np.nan, largest).tolist()
        values = dict(zip(VALUES, known, strict=True))
        hashes = dict(zip(HASHES, self._hashes[:, column].tolist(), strict=True))
        has_all = {"targets": marks.pop("has_target"), "pixels": marks.pop("has_pixels")}
        hashes |= {name: None for name, count in has_all.items() if count < counts.scored}
        values["lowest_loss"] *= -1
        values["last_index"] = int(values["last_index"])
        values["first_index"] = -int(values["first_index"])
        changes = [float(block[column]) for block in self._changes]
        total = sum(changes)
        change = fsum(changes) if isfinite(total) else total
        right = tuple(draws.tolist())
        return counts._replace(**marks, **values, **hashes, loss_change=change, draws=right)

    def answers(self, column: int) -> Answers:
        """Clean predictions of the scored images of a column."""
        pairs = [
            answers[int(hashes[column])]
            for hashes, answers in self._answers
            if int(hashes[column]) in answers
        ]
        return Answers(*np.concatenate([np.empty((2, 0), np.int32), *pairs], axis=1))

    def rights(self, column: int) -> RightBits | None:
        """Which images of a column are right.

        None where positions lie far apart, and where two images have one position.
        """
        if self._bits is None:
            return None
        first, bits = self._bits
        rights = RightBits(
            *(int.from_bytes(row.tobytes(), "little") << first for row in bits[:, column])
        )
        is_whole = [of.bit_count() for of in rights] == self._marks[BITS, column].tolist()
        return rights if is_whole else None

    @cached_property
    def _bits(self) -> tuple[int, NDArray[np.uint8]] | None:
        """As `Block` has them, of all blocks."""
        packed = [(at, bits) for at, bits in self._packed if bits is not None]
        if len(packed) < len(self._packed) or not packed:
            return None
        first = min(at for at, _ in packed)
        end = max(at + 8 * bits.shape[-1] for at, bits in packed)
        if len(BITS) * self.plan.columns * (end - first) > MOST_BITS:
            return None
        whole = np.zeros((len(BITS), self.plan.columns, (end - first) // 8), np.uint8)
        for at, bits in packed:
            start = (at - first) // 8
            whole[..., start : start + bits.shape[-1]] |= bits
        return first, whole

    def unscored(self, columns: Mapping[int, int]) -> Iterator[tuple[int, int, str, str | None]]:
        """What became of the images of some columns that were not scored.

        Args:
            columns: by entry, its column.

        Yields:
            The entry, the first position, status and message, each kind once.
        """
        entries = {column: entry for entry, column in columns.items()}
        for (column, status, message), first in self._unscored.items():
            if column in entries:
                yield entries[column], first, status, message

    def partly(self, number: int) -> Marks:
        """Of an ensemble, as `Picked.partly`."""
        return self._partly[number]

    def nearest(self, number: int) -> Nearest | None:
        """Of an ensemble; None without records."""
        blocks = self._nearest[number]
        return Nearest.joined(blocks) if blocks else None
