"""Of each image, the record of the attack that did most to it, for one budget after another."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.threat_model import TOLERANCE
from robustbench_twicing.records.schema import Status

from .columns import OK, STATUSES, Array, Columns, Grid, Marks, Positions

CLEAN_COLUMNS = {
    "prediction": "clean_prediction",
    "rank": "clean_rank",
    "rank_8bit": "clean_rank",
    "loss": "clean_loss",
}
"""What a record of clean pixels has in some columns."""
NOTHING: dict[str, Callable[[Array], Array]] = {
    "linf": np.zeros_like,
    **dict.fromkeys(("l2", "l0"), lambda values: np.minimum(values, 0)),  # none, if never measured
    "goal": lambda values: np.full_like(values, -1),
}
"""What columns of the record of an attack become where it did nothing."""
UNITS: dict[Norm, tuple[int, str]] = {"linf": (255, "1/255"), "l2": (1, "1"), "patch": (1, "px")}
"""What a distance, or a budget, is multiplied by, and the unit that it then has."""
WITNESSES = """
SELECT records.* REPLACE (
        picked.entry AS entry,
        if(clean, clean_rank, rank) AS rank,
        if(clean, clean_rank, rank_8bit) AS rank_8bit,
        if(clean, clean_prediction, prediction) AS prediction,
        if(clean, clean_loss, loss) AS loss,
        if(clean, 0, linf) AS linf,
        if(clean, 0 * l2, l2) AS l2,
        if(clean, 0 * l0, l0) AS l0,
        if(clean, NULL, goal) AS goal,
        NULL AS radius,
        NULL AS draws_right,
        if(status = 'ok', if(clean, 'clean', condition), NULL) AS witness
    ), budgets
FROM records JOIN given AS picked ON records.entry = source AND records."index" = picked."index"
"""
"""SQL of the records of the worst case, from `Picked.table` in the place of ``given``."""


@dataclass(frozen=True)
class Ensemble:
    """The attacked conditions over which the worst case is, and the clean images.

    Attributes:
        members: attacked conditions by row, in the order that decides between equals.
        clean: rows of the clean images.
        has_worst: whether there is a worst case of it.
    """

    members: Mapping[int, Condition]
    clean: tuple[int, ...] = ()
    has_worst: bool = True

    @cached_property
    def budgets(self) -> list[Fraction]:
        """At which there is a worst case; ascending."""
        if not self.has_worst:
            return []
        return sorted({member.eps for member in self.members.values() if member.is_sweep})

    @cached_property
    def steps(self) -> tuple[Positions, NDArray[np.float64], Positions]:
        """In which order attacks count.

        The row of each, the largest radius of it that counts, and of each budget the number of
        steps up to it.
        """
        rows, reaches, ends = list[int](), list[float](), list[int]()
        for number, eps in enumerate(self.budgets):
            below = self.budgets[number - 1] if number else Fraction(-1)
            for row, condition in self.members.items():
                if not condition.is_sweep or below < condition.eps <= eps:
                    rows.append(row)
                    reaches.append(float(eps) + TOLERANCE)
            ends.append(len(rows))
        return np.array(rows, int), np.array(reaches, float)[:, None], np.array(ends, int)

    @cached_property
    def caps(self) -> NDArray[np.float64]:
        """`cap_of` of the attacks at a budget, as a column."""
        swept = [member for member in self.members.values() if member.is_sweep]
        return np.array([cap_of(member) for member in swept])[:, None]

    def scored(self, grid: Grid) -> Positions:
        """The row of a scored record of each image, which knows its clean pixels; -1 for none."""
        rows = np.array([*self.clean, *self.members])
        scored = grid.columns["status"][rows[::-1]] == OK
        return np.where(scored.any(axis=0), rows[len(rows) - 1 - scored.argmax(axis=0)], -1)


def cap_of(condition: Condition) -> float:
    """The largest distance that a row of an attack shows, in the unit of its norm: its budget.

    Infinite where the budget is not one of pixels.
    """
    is_of_pixels = condition.is_sweep and condition.threat.space == "pixel"
    return float(condition.eps * UNITS[condition.threat.norm][0]) if is_of_pixels else inf


def have_worst(conditions: Iterable[Condition], modes: Iterable[str]) -> bool:
    """Whether attacked conditions have a worst case.

    A single attack has none, which would only repeat its sweep, but in survivors mode, where it
    has no numbers of its own.

    Args:
        conditions: attacked ones.
        modes: of their runs.
    """
    return len({condition.attack for condition in conditions}) > 1 or "survivors" in modes


def clean_pixels(grid: Grid, scored: Positions) -> Columns:
    """Records (n,) that say of each image that an attack did nothing to it: it changed by 0.

    Args:
        grid: records.
        scored: the row of one that knows its clean pixels.
    """
    images = np.arange(len(scored))
    before = {name: values[scored, images] for name, values in grid.columns.items()}
    return {
        name: NOTHING[name](values)
        if name in NOTHING
        else before.get(CLEAN_COLUMNS.get(name, name), values)
        for name, values in before.items()
    }


class Picked(NamedTuple):
    """The records of the worst case.

    Attributes:
        rows: of each budget and image (B, n), the row of the record, -1 for none.
        partly: of each budget, whether a broken image lacks an attack, so that its rank might have
            been larger.
    """

    rows: Positions
    partly: Marks

    def table(
        self, grid: Grid, scored: Positions, clean: int, entries: Positions, first: int
    ) -> pa.Table:
        """The same as `WITNESSES` takes it.

        Args:
            grid: the records.
            scored: rows that know the clean pixels.
            clean: the row that stands for clean pixels.
            entries: of every row.
            first: the entry of the worst case at the smallest budget; the others follow it.

        Returns:
            ``source`` (an entry) and ``index`` of records, whether it is their ``clean`` pixels
            that count, the first ``entry`` of the worst case in which they stand, and in how many
            ``budgets`` one after the other.
        """
        begins = np.ones(self.rows.shape, bool)
        begins[1:] = self.rows[1:] != self.rows[:-1]
        image, place = np.nonzero(begins.T)  # by image, then by budget
        ends = np.append(place[1:], len(self.rows))
        ends[ends == 0] = len(self.rows)
        rows = self.rows[place, image]
        values = {
            "source": entries[np.where(rows == clean, scored[image], rows)],
            "index": grid.indices[image],
            "clean": rows == clean,
            "entry": first + place,
            "budgets": ends - place,
        }
        return pa.table({name: column[rows >= 0] for name, column in values.items()})


def strongest(ensemble: Ensemble, columns: Columns, scored: Positions, clean: int) -> Picked:
    """Which records are the worst case of some images.

    Args:
        ensemble: the attacks.
        columns: of a grid (R, n).
        scored: of each image, a row that knows its clean pixels; -1 for none.
        clean: the row that stands for clean pixels.

    Returns:
        For each budget the record with the largest rank, then the largest loss, the smallest
        budget, the first member. Of an image that none broke, and that lacks an attack, it is an
        error where the attack failed, else no record.
    """
    rows, reaches, ends = ensemble.steps
    status, images = columns["status"][rows], np.arange(len(scored))
    outcomes = np.empty((len(rows) + 1, len(scored)), np.complex128)
    # Rank and loss as one number, for complex ones are compared by their real part first.
    outcomes.real[1:], outcomes.imag[1:] = columns["rank"][rows], columns["loss"][rows]
    outcomes.real[0] = columns["clean_rank"][scored, images]
    outcomes.imag[0] = columns["clean_loss"][scored, images]
    outcomes.imag[np.isnan(outcomes.imag)] = -np.inf
    outcomes[0, scored < 0] = -1
    outcomes[1:][(status != OK) | (columns["radius"][rows] > reaches)] = -1
    worst = np.maximum.accumulate(outcomes, axis=0)
    steps = np.arange(1, len(rows) + 1)[:, None] * (worst[1:] != worst[:-1])
    last = np.maximum.accumulate(steps, axis=0)[ends - 1]
    picked = np.where(last > 0, rows[last - 1], np.where(scored < 0, -1, clean))
    if (status == OK).all():
        return Picked(picked, np.zeros(len(ends), bool))
    broken, lacks = worst.real[ends] > 0, np.logical_or.accumulate(status != OK)[ends - 1]
    skipped, failed = (
        _first(rows, status == STATUSES.index(absent), ends)
        for absent in (Status.SKIPPED, Status.ERROR)
    )
    picked = np.select(
        [skipped >= 0, broken, failed >= 0, lacks], [skipped, picked, failed, -1], picked
    )
    return Picked(picked, np.logical_or.reduce(lacks & broken & (skipped < 0), axis=1))


def _first(rows: Positions, marks: Marks, ends: Positions) -> Positions:
    """Of each budget and image the row of the first mark among the steps up to it; -1 for none."""
    step = np.where(marks.any(axis=0), marks.argmax(axis=0), len(rows))
    return np.where(step < ends[:, None], np.append(rows, -1)[step], -1)
