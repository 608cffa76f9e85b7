"""The best and the second best number of each group of a column."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from ..merging.runs import Runs
from ..statistics.comparable import METRICS, Unlike, is_tested, pair_of
from ..statistics.paired import SIGNIFICANT, holm, mcnemar
from .table import Mark, Table

Marking = Literal["best", "significant", "none"]
MARKINGS: tuple[Marking, ...] = ("best", "significant", "none")
BEST_NOTE = "Bold: best of its group."
SECOND_NOTE = "Bold: best of its group; underlined: second best of three or more."
SIGNIFICANT_NOTE = (
    "Bold: best of its group, and better than each of the others by McNemar's exact test on the "
    "same images; underlined: second best, and better than each of the rest. P values are "
    "corrected by Holm over all {0} tests of this table; the level is 5 %."
)


class Contest(NamedTuple):
    """The numbers of one group in one column, best first.

    Attributes:
        column: its position.
        rows: positions of the rows that have a number, best first.
        values: their numbers.
    """

    column: int
    rows: list[int]
    values: list[float]


def mark(table: Table, marking: Marking, runs: Runs | None = None) -> Table:
    """Mark the best numbers.

    Args:
        table: whose ``marks`` and ``notes`` are added to.
        marking: ``best``, by value alone; ``significant``, where tests say so; ``none``.
        runs: needed for ``significant``.
    """
    if marking == "none":
        return table
    contests = list(_contests(table))
    if marking == "best":
        marks = {place: kind for contest in contests for place, kind in _by_value(contest)}
        note = SECOND_NOTE if "second" in marks.values() else BEST_NOTE
    else:
        if runs is None:
            raise ValueError("significance needs the records")
        marks, tests, reasons = _by_test(table, contests, runs)
        note = SIGNIFICANT_NOTE.format(tests)
        table = replace(table, notes=(*table.notes, *reasons))
    if not marks and (marking == "best" or not contests):
        return table
    return replace(table, marks={**table.marks, **marks}, notes=(*table.notes, note))


def _contests(table: Table) -> Iterator[Contest]:
    """Groups with at least two numbers."""
    members: dict[str, list[int]] = {}
    for row, group in enumerate(table.group_of):
        members.setdefault(group, []).append(row)
    for position, column in enumerate(table.columns):
        if not column.best:
            continue
        values = pd.to_numeric(table.frame.iloc[:, position]).to_numpy(float)
        for rows in members.values():
            scored = [row for row in rows if not np.isnan(values[row])]
            sign = -1 if column.best == "highest" else 1
            scored.sort(key=(sign * values).__getitem__)
            if len(scored) > 1:
                yield Contest(position, scored, [float(values[row]) for row in scored])


def _by_value(contest: Contest) -> Iterator[tuple[tuple[int, int], Mark]]:
    """Equal numbers share a place; where more than half are equal and best, none stands out."""
    placed = list(zip(contest.rows, contest.values, strict=True))
    tiers = [list(tier) for _, tier in groupby(placed, key=lambda pair: pair[1])]
    if 2 * len(tiers[0]) > len(placed):
        return
    for row, _ in tiers[0]:
        yield (row, contest.column), "best"
    if len(tiers[0]) == 1 and len(placed) > 2:
        for row, _ in tiers[1]:
            yield (row, contest.column), "second"


def _by_test(
    table: Table, contests: Sequence[Contest], runs: Runs
) -> tuple[dict[tuple[int, int], Mark], int, list[str]]:
    """The best and the second of each contest against each that is behind.

    Returns:
        Marks by row and column, how many tests were made, and why some were not.
    """
    duels = [
        (contest, leader, row)
        for contest in contests
        for leader in range(min(2, len(contest.rows) - 1))
        for row in contest.rows[leader + 1 :]
    ]
    outcomes = [_p_value(table, runs, duel[0], duel[0].rows[duel[1]], duel[2]) for duel in duels]
    made = [p for p in outcomes if isinstance(p, float)]
    corrected = iter(holm(made))
    beaten: dict[tuple[int, int], list[bool]] = {}
    for (contest, leader, _), p in zip(duels, outcomes, strict=True):
        better = isinstance(p, float) and next(corrected) < SIGNIFICANT
        beaten.setdefault((contest.rows[leader], contest.column), []).append(better)
    marks: dict[tuple[int, int], Mark] = {}
    for contest in contests:
        kinds: tuple[Mark, ...] = ("best", "second") if len(contest.rows) > 2 else ("best",)
        for row, kind in zip(contest.rows, kinds, strict=False):
            if all(beaten[row, contest.column]):
                marks[row, contest.column] = kind
    reasons = [reason for reason in outcomes if isinstance(reason, str)]
    return marks, len(made), list(dict.fromkeys(reasons))


def _p_value(
    table: Table, runs: Runs, contest: Contest, first: int, second: int
) -> float | str | None:
    """P value; or why two entries are not tested; None without records, or where nothing is."""
    metric = table.columns[contest.column].metric
    if metric not in METRICS:
        return None
    entries = [int(table.entries[row, contest.column]) for row in (first, second)]
    if min(entries) < 0 or not is_tested(runs.entries[entries[0]].condition):
        return None
    try:
        return mcnemar(pair_of(runs, entries[0], entries[1], metric))
    except Unlike as reason:
        names = " and ".join(runs.entries[entry].label for entry in entries)
        return f"{names} are not tested against each other: {reason}."
