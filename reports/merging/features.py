"""What is counted of each record, and its sums over images."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustbench_twicing.records.schema import MOST_DRAWS

from .columns import ABSENT, DRAWS, OK, STATUSES, Array, Columns, Marks, Positions

SATURATED_LOSS = 1e-7
"""Below it float32 takes the true class's probability for 1 and gradients vanish."""
MARKS = (
    *("right", "top5", "before", "robust", "gradients", "zero_gradients", "saturated"),
    *("rounded", "rounded_right", "unrounded_right", "answered", "has_target", "has_pixels"),
    *("goal_hits", "goal_hits_right"),
)
"""What a record is counted for; and behind them the draws of a network that are right."""
VALUES = (
    *("linf", "l2", "l0", "linf_right", "highest_loss", "lowest_loss", "last_index", "first_index"),
)
"""Of which the largest is wanted: the last of each of the two pairs is negative."""
HASHES = ("answers", "images", "targets", "pixels")


class Features(NamedTuple):
    """Of records of R rows and n images; nothing of those that were not scored.

    Attributes:
        status: positions in `STATUSES` (R, n).
        marks: by `MARKS`, and by draw (M, R, n).
        values: by `VALUES` (V, R, n); minus infinity for none.
        hashes: by `HASHES` (H, R, n).
        change: loss minus clean loss (R, n) of images that were right before.
    """

    status: NDArray[np.int8]
    marks: Marks
    values: NDArray[np.float64]
    hashes: NDArray[np.uint64]
    change: NDArray[np.float64]

    def first(self, rows: int) -> "Features":
        """The first rows."""
        return self._mapped(lambda part: part[..., :rows, :])

    def of(self, rows: Positions) -> "Features":
        """Of each image other rows (B, n)."""
        images = rows.shape[1]
        at = rows % len(self.status) * images + np.arange(images)
        return self._mapped(lambda part: part.reshape(*part.shape[:-2], -1).take(at, axis=-1))

    def and_none(self) -> "Features":
        """With a row of no records at the end, which the row -1 gives."""
        nothing = iter((ABSENT, False, -np.inf, np.uint64(0), 0.0))
        return self._mapped(
            lambda part: np.concatenate(
                [part, np.full_like(part[..., :1, :], next(nothing))], axis=-2
            )
        )

    def _mapped(self, change: Callable[[Array], Array]) -> "Features":
        parts: list[Any] = [change(part) for part in self]
        return Features(*parts)

    def sums(self) -> "Sums":
        """Over the images."""
        packed = np.packbits(self.marks, axis=-1)
        statuses = [(self.status == code).sum(axis=-1) for code in range(len(STATUSES))]
        return Sums(
            np.array(statuses),
            np.bitwise_count(packed).sum(axis=-1, dtype=np.int64),
            self.values.max(axis=-1, initial=-np.inf),
            np.bitwise_xor.reduce(self.hashes, axis=-1),
            self.change.sum(axis=-1),
        )


class Sums(NamedTuple):
    """Of R rows.

    Attributes:
        statuses: records by `STATUSES` (S, R).
        marks: records by `MARKS`, and by draw (M, R).
        values: the largest by `VALUES` (V, R); minus infinity for none.
        hashes: by `HASHES`, combined by xor, so that their order does not matter (H, R).
        change: summed (R,).
    """

    statuses: NDArray[np.int64]
    marks: NDArray[np.int64]
    values: NDArray[np.float64]
    hashes: NDArray[np.uint64]
    change: NDArray[np.float64]


def features_of(columns: Columns) -> Features:
    """What is counted of every record."""
    status, rank, clean_rank = (columns[name] for name in ("status", "rank", "clean_rank"))
    loss, clean_loss, gradient = (columns[name] for name in ("loss", "clean_loss", "gradient"))
    rank_8bit, linf, l0 = columns["rank_8bit"], columns["linf"], columns["l0"]
    right, before, rounded = rank == 0, clean_rank == 0, rank_8bit >= 0
    hit = (columns["goal"] >= 0) & (columns["goal"] == columns["prediction"])
    marks = np.array(
        [
            *(right, (rank >= 0) & (rank < 5), before, right & before),
            *(~np.isnan(gradient), gradient == 0, clean_loss < SATURATED_LOSS),
            *(rounded, rank_8bit == 0, right & rounded),
            *(columns["clean_prediction"] >= 0, columns["target"] >= 0),
            columns["pixels_sha256"] != 0,
            *(hit, hit & before),
        ]
    )
    if DRAWS in columns:
        marks = np.concatenate([marks, _right_in_draws(columns[DRAWS])])
    values = np.empty((len(VALUES), *rank.shape))
    values[0], values[1] = linf, columns["l2"]
    values[2] = np.where(l0 < 0, np.nan, l0)
    values[3] = np.where(right, linf, np.nan)
    values[4] = np.where(before, np.fmax(loss, clean_loss), np.nan)
    values[5] = np.where(before, -np.fmin(loss, clean_loss), np.nan)
    values[6], values[7] = columns["index"], -columns["index"]
    values[np.isnan(values)] = -np.inf
    change = np.where(before, loss - clean_loss, 0.0)
    change[np.isnan(change)] = 0.0  # where there is no loss
    hashes = _hashes(columns)
    scored = status == OK
    if not scored.all():
        marks &= scored
        values[:, ~scored], hashes[:, ~scored], change[~scored] = -np.inf, 0, 0.0
    return Features(status, marks, values, hashes, change)


def _right_in_draws(bits: Array) -> Marks:
    """Of each draw and record whether it is right (D, R, n)."""
    known = np.where(bits < 0, 0, bits)
    draws: Marks = np.array([known >> draw & 1 for draw in range(MOST_DRAWS)], bool)
    return draws


def _hashes(columns: Columns) -> NDArray[np.uint64]:
    """Of position and value together, or the xor of all would not tell which image has which."""
    names = "index", "target", "clean_prediction", "image", "pixels_sha256"
    values = [columns[name] for name in names]
    shape = len(HASHES), *values[0].shape
    if all((of == of[:1]).all() for of in values):  # the same in all rows, as they mostly are
        values = [of[:1] for of in values]
    index, target, answer, image, pixels = (of.astype(np.uint64) for of in values)
    at = _mixed(index)
    targets = _mixed(at + target)
    hashes = [_mixed(targets + answer), _mixed(at ^ image), targets, _mixed(at + pixels)]
    return np.array(np.broadcast_to(np.array(hashes), shape))


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Values that are spread over all bits, by SplitMix64 (Steele et al. 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
