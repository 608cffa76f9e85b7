"""Many run folders (shards, machines, models) as one set of results and records.

`merge(folders)` gives `Runs`, on which every table, plot and comparison is built:

- ``runs.entries``: one `Entry` per (label, data set, protocol, condition): what the manifests say.
- ``runs.query(sql)``: a DataFrame from DuckDB, where ``records`` are the records of all images: the
  columns of `RECORD_SCHEMA` and ``entry``, the position in ``runs.entries``. They stay in their
  files; what a query needs passes through memory.
- ``runs.counts``: what is counted of each entry, in one such query.
- ``runs.of(i)``: the records of entry ``i`` as a DataFrame, by position in the data set. Names,
  image ids, hashes and messages are categorical; whole numbers are floats where some are missing.
- ``runs.records``: likewise all records, by entry; they must fit into memory (0.3 GB a million).
- ``runs.with_entries(entries, records)``: with computed entries, whose records come from a table.
- ``runs.notes``: sentences a reader must know about the merging itself.
- `results(runs)`: the table of results.csv; its row ``i`` is entry ``i``.

Folders with equal manifests are shards of one run: their parts together are its records. What
would mix numbers is refused: an image counted twice, one label for two models or one data set name
for two sets of images under a label, one label and condition in two runs with different content.
Where two labels have different images under one data set name, the names are told apart by ``#``
and eight digits of the images' fingerprint.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa

from robustbench_twicing.conditions.condition import Condition

from .blocks import Plan
from .columns import SQL_OF_NEEDED
from .counts import Answers, Counts, RightBits
from .database import NAMED, NAMES, Database, Source, fetch, stream
from .entry import Entry, renamed
from .tally import Tally

FEWEST_ANSWERS = 20
"""Images that can tell whether a network is no better than guessing."""


@dataclass(frozen=True)
class Runs:
    """Merged runs; see the module's docstring.

    Attributes:
        entries: in the order of results.csv.
        sources: where their records are from.
        notes: sentences about the merging.
        database: reads the records, and holds those that were added.
    """

    entries: tuple[Entry, ...] = ()
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    database: Database = field(default_factory=Database, repr=False, compare=False)

    @property
    def attacks(self) -> dict[str, Condition]:
        """By name of an attack, the first condition that it is of."""
        first: dict[str, Condition] = {}
        for entry in self.entries:
            first.setdefault(entry.condition.attack, entry.condition)
        return first

    @cached_property
    def counts(self) -> tuple[Counts, ...]:
        """What is counted of the records of every entry."""
        counts = [Counts()] * len(self.entries)
        for source in self.sources:
            for entry, column in source.columns.items():
                counts[entry] = source.tally.counts(column)
        return tuple(counts)

    @cached_property
    def rights(self) -> dict[int, RightBits]:
        """Which images of an entry are right, but where two images have one position."""
        return {
            entry: right
            for source in self.sources
            for entry, column in source.columns.items()
            if self.counts[entry].scored and (right := source.tally.rights(column)) is not None
        }

    @cached_property
    def answers(self) -> dict[int, Answers]:
        """Clean predictions, by the hash of them in `Counts`; few of them are left out."""
        answers: dict[int, Answers] = {}
        for source in self.sources:
            for entry, column in source.columns.items():
                counts = self.counts[entry]
                if counts.answered >= FEWEST_ANSWERS and counts.answers not in answers:
                    answers[counts.answers] = source.tally.answers(column)
        return answers

    @cached_property
    def unscored(self) -> pd.DataFrame:
        """What became of images that were not scored, once per entry and message.

        Columns ``entry, label, dataset, condition, status, message``, in order of entry and image.
        """
        rows = [row for source in self.sources for row in source.tally.unscored(source.columns)]
        rows.sort(key=lambda row: row[:2])
        told = [(row[0], *self.entries[row[0]].key, *row[2:]) for row in rows]
        columns = ["entry", *NAMES, "status", "message"]
        return pd.DataFrame(told, columns=columns).drop(columns="protocol")

    @property
    def records(self) -> pd.DataFrame:
        """All records, sorted by entry and position; they must fit into memory."""
        return _frame(self.arrow('SELECT * FROM records ORDER BY entry, "index"'))

    def of(self, entry: int) -> pd.DataFrame:
        """The records of one entry, in order of image."""
        return _frame(self.arrow_of('SELECT * FROM records ORDER BY "index"', [entry]))

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> pd.DataFrame:
        """What SQL gives over ``records``; see the module's docstring.

        Args:
            sql: one query; its order is that of its ORDER BY.
            parameters: of the question marks in it.

        Raises:
            UserError: a part that was changed after it was checked; too little memory and disk.
        """
        frame: pd.DataFrame = self.arrow(sql, parameters).to_pandas()
        return frame

    def arrow(self, sql: str, parameters: Sequence[Any] = ()) -> pa.Table:
        """As `query`, as a table of Arrow, where whole numbers stay whole beside NULL."""
        return fetch(self._connection, sql, parameters)

    def batches(self, sql: str, rows: int) -> Iterator[pa.RecordBatch]:
        """As `arrow`, so many rows at a time, for answers that are larger than the memory."""
        return stream(self._connection, sql, rows)

    def arrow_of(
        self, sql: str, entries: Collection[int], parameters: Sequence[Any] = ()
    ) -> pa.Table:
        """As `arrow`, where ``records`` are those of some entries, which is faster than a WHERE."""
        with self._connect(entries) as connection:
            return fetch(connection, sql, parameters)

    def renamed(self, names: Mapping[str, str]) -> "Runs":
        """The same, with labels under other names.

        Args:
            names: label -> name.

        Raises:
            UserError: an unknown label, or one name for two labels.
        """
        return replace(self, entries=renamed(self.entries, names)) if names else self

    def with_entries(
        self,
        entries: Sequence[Entry],
        records: pa.Table | str,
        *,
        reads: Collection[int] | None = None,
        given: Callable[[], pa.Table] | None = None,
        counted: tuple[Tally, int] | None = None,
    ) -> "Runs":
        """These runs and entries that were computed, behind the others.

        Args:
            entries: the new ones.
            records: of the new entries: ``entry``, the position among all entries of the result,
                and columns of `RECORD_SCHEMA`; those that are left out have no value, and names
                of label, data set, protocol and condition are those of the entry. With a column
                ``budgets`` a record is one of so many entries, from ``entry`` on. Or SQL over
                ``records`` that gives them, when they are asked for.
            reads: entries whose records such SQL reads; all unless given.
            given: makes a table that such SQL may call ``given``.
            counted: where the records are counted already, the tally and the column of the first
                new entry, which the others follow.
        """
        start = len(self.entries)

        @cache
        def table() -> str:
            with self._connect(range(start) if reads is None else reads) as connection:
                return self.database.add_table(connection, records, given and given())

        tally, column = counted or (Tally(Plan(len(entries))), 0)
        columns = {start + place: column + place for place in range(len(entries))}
        source = Source(columns, tally, table=table)
        runs = replace(self, entries=(*self.entries, *entries), sources=(*self.sources, source))
        if counted is None:
            block = runs.arrow_of(f"SELECT {SQL_OF_NEEDED} FROM records", columns)
            tally.add(tally.plan.count(block, block["entry"].to_numpy() - start))
        return runs

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        return self._connect(range(len(self.entries)))

    def _connect(self, entries: Collection[int]) -> duckdb.DuckDBPyConnection:
        """A connection whose view ``records`` is of these entries."""
        wanted = set(entries)
        sources = [source for source in self.sources if not wanted.isdisjoint(source.columns)]
        named = [
            dict(zip(NAMES, self.entries[entry].key, strict=True))
            | {"source": number, "entry": entry}
            for number, source in enumerate(sources)
            for entry in source.columns
            if entry in wanted
        ]
        return self.database.connect(sources, pa.Table.from_pylist(named, NAMED))


def _frame(records: pa.Table) -> pd.DataFrame:
    """Texts are categories."""
    texts = [field.name for field in records.schema if pa.types.is_string(field.type)]
    frame: pd.DataFrame = records.to_pandas(categories=texts)
    return frame
