"""The attacks on the same images of one network: counted when parts were read, or by blocks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from robustbench_twicing.conditions.condition import CLEAN, Condition

from .blocks import Plan
from .columns import SQL_OF_NEEDED, Positions, grid_of
from .entry import Entry
from .runs import Runs
from .strongest import Ensemble, have_worst, strongest
from .tally import Tally

MOST_RECORDS = 250_000
"""That are in memory at a time, where runs hold an ensemble together."""

Members = Mapping[int, Entry]
"""Attacked conditions that count, by position among the entries."""


class Attacks(NamedTuple):
    """Entries of one label, data set and protocol.

    Attributes:
        clean: positions of the clean images.
        members: attacked conditions by position, in the order of the entries.
    """

    clean: Sequence[int]
    members: Mapping[int, Condition]

    @property
    def entries(self) -> list[int]:
        """All of them; their order is that of the rows of `plan`."""
        return [*self.clean, *self.members]

    @property
    def plan(self) -> Plan:
        """These alone."""
        conditions = enumerate(self.members.values(), len(self.clean))
        return Plan(len(self.entries), (Ensemble(dict(conditions), tuple(range(len(self.clean)))),))


def ensembles(runs: Runs) -> dict[tuple[str, ...], Members]:
    """The attacked conditions of each label, data set and protocol that has a worst case."""
    groups: dict[tuple[str, ...], dict[int, Entry]] = {}
    for position, entry in enumerate(runs.entries):
        if entry.condition.is_attacked and not entry.condition.is_worst:
            groups.setdefault(entry.key[:3], {})[position] = entry
    return {
        place: members
        for place, members in groups.items()
        if have_worst(
            (entry.condition for entry in members.values()),
            (entry.manifest.mode for entry in members.values()),
        )
    }


def attacks_of(runs: Runs, members: Members) -> Attacks:
    """An ensemble, with the clean images of the same place."""
    place = next(iter(members.values())).key[:3]
    clean = [
        position
        for position, entry in enumerate(runs.entries)
        if entry.key[:3] == place and entry.condition.attack == CLEAN
    ]
    return Attacks(clean, {position: entry.condition for position, entry in members.items()})


class Counted(NamedTuple):
    """What is counted of attacks.

    Attributes:
        tally: of them, and perhaps of others.
        number: of the ensemble in it.
    """

    tally: Tally
    number: int

    @property
    def ensemble(self) -> Ensemble:
        """The attacks by row of the tally."""
        return self.tally.plan.ensembles[self.number]


def counted(runs: Runs, attacks: Attacks) -> Counted:
    """What is counted of attacks: by the run whose parts hold all of them, else by block.

    Clean images that are counted from another run are the same ones.
    """
    for source in runs.sources:
        rows = [source.columns.get(entry) for entry in attacks.members]
        for number, ensemble in enumerate(source.tally.plan.ensembles):
            if rows == list(ensemble.members) and bool(attacks.clean) == bool(ensemble.clean):
                return Counted(source.tally, number)
    tally = Tally(attacks.plan)
    for records, rows_of in _in_blocks(runs, attacks):
        tally.add(tally.plan.count(records, rows_of))
    return Counted(tally, 0)


def picked_records(runs: Runs, attacks: Attacks, first: int) -> pa.Table:
    """Of the worst case at each budget, from the entry ``first`` on, the record of each image."""
    plan, entries = attacks.plan, np.array(attacks.entries)
    (ensemble,), tables = plan.ensembles, []
    for records, rows in _in_blocks(runs, attacks):
        grid = grid_of(records, rows, plan.conditions)
        scored = ensemble.scored(grid)
        picked = strongest(ensemble, grid.columns, scored, plan.conditions)
        tables.append(picked.table(grid, scored, plan.conditions, entries, first))
    return pa.concat_tables(tables)


def _in_blocks(runs: Runs, attacks: Attacks) -> Iterator[tuple[pa.Table, Positions]]:
    """Some images at a time, and of each record its row."""
    entries = attacks.entries
    rows = np.empty(max(entries) + 1, int)
    rows[entries] = np.arange(len(entries))
    step = max(1, MOST_RECORDS // len(entries))
    for start in range(0, runs.entries[entries[-1]].evaluation.dataset.n_images, step):
        records = runs.arrow_of(
            f"""SELECT {SQL_OF_NEEDED} FROM records
            WHERE "index" >= {start} AND "index" < {start + step}""",
            entries,
        )
        yield records, rows[records["entry"].to_numpy()]
