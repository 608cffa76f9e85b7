"""Sums over the records of some images: by condition, and of the worst case of each ensemble."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .columns import ABSENT, OK, STATUSES, Columns, Grid, Marks, Positions, coded, grid_of
from .features import HASHES, MARKS, Sums, features_of
from .nearest import Nearest, nearest
from .strongest import Ensemble, Picked, clean_pixels, strongest

BITS = [MARKS.index("right"), MARKS.index("top5")]
"""Marks that are kept of each image."""
WIDEST = 64
"""Positions in the data set for each image; where they lie farther apart there are no bits."""
Unscored = dict[tuple[int, str, str | None], int]
"""By column, status and message of records that were not scored, the first position."""


class Block(NamedTuple):
    """What is counted of some images, in G columns.

    Attributes:
        sums: of every column.
        first: position of the first bit.
        bits: of `BITS`, packed by position (2, G, bytes), the first in the lowest; None where
            positions lie far apart.
        answers: labels and clean predictions of scored images (2, N), by the hash of them.
        unscored: what became of the others.
        partly: of each ensemble, as `Picked` has it.
        nearest: of each ensemble.
    """

    sums: Sums
    first: int
    bits: NDArray[np.uint8] | None
    answers: Mapping[int, NDArray[np.int32]]
    unscored: Unscored
    partly: list[Marks]
    nearest: list[Nearest]


@dataclass(frozen=True)
class Plan:
    """What is counted.

    A column is a condition, by its code; behind them stand the budgets of one ensemble after the
    other.

    Attributes:
        conditions: how many there are.
        ensembles: over which there is a worst case.
    """

    conditions: int
    ensembles: tuple[Ensemble, ...] = ()

    @cached_property
    def columns(self) -> int:
        """How many there are."""
        return self.first_of(len(self.ensembles))

    def first_of(self, number: int) -> int:
        """The column of the smallest budget of an ensemble."""
        return self.conditions + sum(len(ensemble.budgets) for ensemble in self.ensembles[:number])

    def count(self, records: pa.Table, codes: NDArray[np.integer[Any]]) -> Block:
        """Count the records of whole images.

        Args:
            records: columns `NEEDED`, in any order.
            codes: of the condition of each.
        """
        grid = grid_of(records, codes, self.conditions)
        scored = [ensemble.scored(grid) for ensemble in self.ensembles]
        columns = _with_clean_pixels(grid, scored)
        picked = [
            strongest(ensemble, columns, of, self.conditions + number)
            for number, (ensemble, of) in enumerate(zip(self.ensembles, scored, strict=True))
        ]
        features = features_of(columns)
        if any((pick.rows < 0).any() for pick in picked):
            features = features.and_none()
        parts = [
            features.first(self.conditions),
            *(features.of(pick.rows) for pick in picked),
        ]
        whole = np.broadcast_to(
            np.arange(self.conditions)[:, None], (self.conditions, len(grid.indices))
        )
        rows = [*whole, *(row for pick in picked for row in pick.rows)]
        by_part = [part.sums() for part in parts]
        sums = Sums(*(np.concatenate(of, axis=-1) for of in zip(*by_part, strict=True)))
        first, bits = _bits(grid.indices, [part.marks[BITS] for part in parts])
        return Block(
            sums,
            first,
            bits,
            _answers(columns, rows, sums.hashes[HASHES.index("answers")]),
            self._unscored(grid, picked, records["message"]),
            [pick.partly for pick in picked],
            [nearest(ensemble, grid) for ensemble in self.ensembles],
        )

    def _unscored(self, grid: Grid, picked: list[Picked], messages: pa.ChunkedArray) -> Unscored:
        status = grid.columns["status"]
        if (status == OK).all():
            return {}
        codes, texts = coded(messages)
        kinds = np.where(grid.at >= 0, codes[grid.at] * (ABSENT + 1) + status, ABSENT)
        kinds[status == OK] = ABSENT
        rows, images = [kinds], np.arange(len(grid.indices))
        none = np.full((len(picked) + 1, len(grid.indices)), ABSENT)  # of clean pixels, and row -1
        rows += [np.append(kinds, none, axis=0)[pick.rows, images] for pick in picked]
        first: Unscored = {}
        for column, of_column in enumerate(np.concatenate(rows)):
            for kind, image in zip(*np.unique(of_column, return_index=True), strict=True):
                message, name = divmod(int(kind), ABSENT + 1)
                if name < ABSENT:
                    first[column, STATUSES[name], texts[message]] = int(grid.indices[image])
        return first


def _answers(
    columns: Columns, rows: Sequence[Positions], hashes: NDArray[np.uint64]
) -> dict[int, NDArray[np.int32]]:
    """Of columns whose rows are given, and whose answers have these hashes."""
    answers = {}
    for content, column in zip(*np.unique(hashes, return_index=True), strict=True):
        at = rows[column], np.arange(len(rows[column]))
        pairs = np.array([columns[name][at] for name in ("target", "clean_prediction")])
        # Of several right labels the target is the first; which answers are right, ranks say.
        pairs[0] = np.where(columns["clean_rank"][at] == 0, pairs[1], pairs[0])
        is_there = (rows[column] >= 0) & (columns["status"][at] == OK) & (pairs[1] >= 0)
        answers[int(content)] = pairs[:, is_there]
    return answers


def _with_clean_pixels(grid: Grid, scored: list[Positions]) -> Columns:
    """Behind the conditions a row of clean pixels for each ensemble."""
    behind = [clean_pixels(grid, of) for of in scored]
    return {
        name: np.concatenate([values, *(of[name][None] for of in behind)])
        for name, values in grid.columns.items()
    }


def _bits(index: NDArray[np.int32], marks: list[Marks]) -> tuple[int, NDArray[np.uint8] | None]:
    low, high = int(index.min(initial=2**31 - 1)), int(index.max(initial=-1))
    if not 0 <= low <= high <= low + WIDEST * len(index):
        return 0, None
    first = low // 8 * 8
    columns = sum(of.shape[1] for of in marks)
    whole = np.zeros((len(BITS), columns, high + 1 - first), bool)
    whole[..., index - first] = np.concatenate(marks, axis=1)
    return first, np.packbits(whole, axis=-1, bitorder="little")
