"""A table before it has a format: numbers in full precision, and what must be known of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Best = Literal["", "highest", "lowest"]
Mark = Literal["best", "second"]
ABOUT = ("dataset", "protocol", "n_images", "seed", "flags")
"""What every row carries beside its numbers."""


class Column(NamedTuple):
    """A column of numbers or words.

    Attributes:
        name: of the column.
        head: what it has in common with its neighbours, like ``PGD 4/255``.
        digits: digits after the point; None for words and counts.
        best: whether the highest or the lowest value of a group is marked.
        metric: name of the per-image metric (``top1``), for tests of significance.
        form: ``f``, or ``g``: the digits are those that count, as for p values.
        key: of the column in a CSV; head and name unless given.
    """

    name: str
    head: str = ""
    digits: int | None = 2
    best: Best = ""
    metric: str = ""
    form: Literal["f", "g"] = "f"
    key: str = ""

    @property
    def full_name(self) -> str:
        """Head and name."""
        return f"{self.head} {self.name}".strip()


@dataclass(frozen=True)
class Table:
    """A table before it has a format.

    Attributes:
        name: as a file name without ending.
        title: one line.
        frame: values in full precision; NaN or None where there are none. The index holds the
            names of the rows (one level or several), the columns are numbered as ``columns``.
        columns: what each column is.
        about: columns `ABOUT`, as text, for each row of ``frame``.
        groups: of each row; the best is found within a group. Empty: all are one.
        entries: numbered like ``frame``: position of the merged entry that a number is from, -1
            where it is from several or none, as all are unless given.
        marks: by row and column.
        notes: sentences that belong to the table.
        remarks: those of them that are on models and attacks, and mark no number.
        stacked: on a terminal each group stands by itself, below its name, in place of the first
            level of the row names.
    """

    name: str
    title: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    about: pd.DataFrame
    groups: tuple[str, ...] = ()
    entries: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    remarks: frozenset[str] = frozenset()
    stacked: bool = False

    def __post_init__(self) -> None:
        numbered = self.frame.set_axis(pd.RangeIndex(self.frame.shape[1]), axis=1)
        object.__setattr__(self, "frame", numbered)
        if not self.entries.size:
            object.__setattr__(self, "entries", np.full(self.frame.shape, -1, np.int64))
        sizes = {len(self.frame), len(self.about), len(self.groups) or len(self.frame)}
        if len(sizes) > 1 or len(self.columns) != self.frame.shape[1]:
            raise ValueError(f"{self.name}: rows and columns must be described one by one")

    @property
    def short_notes(self) -> list[str]:
        """Notes without the remarks."""
        return [note for note in self.notes if note not in self.remarks]

    def of_columns(self, positions: Sequence[int]) -> Self:
        """The table with these columns alone."""
        kept = list(positions)
        marks = {
            (row, kept.index(column)): mark
            for (row, column), mark in self.marks.items()
            if column in kept
        }
        return replace(
            self,
            frame=self.frame.iloc[:, kept],
            columns=tuple(self.columns[position] for position in kept),
            entries=self.entries[:, kept],
            marks=marks,
        )

    def with_columns(self, columns: Sequence[Column], values: pd.DataFrame, at: int) -> Self:
        """The table with more columns from a position on, whose numbers are of no single entry."""
        frames = [self.frame.iloc[:, :at], values, self.frame.iloc[:, at:]]
        return replace(
            self,
            frame=pd.concat(frames, axis=1),
            columns=(*self.columns[:at], *columns, *self.columns[at:]),
            entries=np.insert(self.entries, [at] * len(columns), -1, axis=1),
        )

    def of_group(self, group: str) -> Self:
        """The rows of one group, without the first of several levels of their names."""
        rows = [row for row, name in enumerate(self.group_of) if name == group]
        return replace(
            self,
            frame=self.frame.iloc[rows].droplevel(0),
            about=self.about.iloc[rows],
            groups=tuple(group for _ in rows),
            entries=self.entries[rows],
            marks={
                (rows.index(row), column): mark
                for (row, column), mark in self.marks.items()
                if row in rows
            },
            stacked=False,
        )

    @property
    def stub(self) -> tuple[str, ...]:
        """Names of the levels of the row names."""
        return tuple(str(name) for name in self.frame.index.names)

    @cached_property
    def row_names(self) -> list[tuple[str, ...]]:
        """Names of the rows, one text for each level; ``no eps`` where a row has no eps."""
        rows = [row if isinstance(row, tuple) else (row,) for row in self.frame.index]
        return [tuple(map(name_of, row, self.stub)) for row in rows]

    @cached_property
    def group_of(self) -> tuple[str, ...]:
        """The group of each row."""
        return self.groups or ("",) * len(self.frame)

    def cell(self, row: int, column: int) -> str:
        """A value as it is printed: rounded; empty where there is none."""
        value: Any = self.frame.iat[row, column]
        if pd.isna(value):
            return ""
        digits, form = self.columns[column].digits, self.columns[column].form
        return str(value) if digits is None else f"{value:.{digits}{form}}"

    @property
    def place(self) -> str:
        """Data set, images, protocol and seed of all rows, in one line."""
        counts = [int(part) for text in self.about["n_images"] for part in text.split("-") if part]
        ends = dict.fromkeys([min(counts), max(counts)] if counts else [])
        parts = {
            "data set": self._all("dataset"),
            "images": "-".join(str(count) for count in ends),
            "protocol": self._all("protocol"),
            "seed": self._all("seed"),
        }
        return "; ".join(f"{name} {value}" for name, value in parts.items() if value)

    def _all(self, name: str) -> str:
        """What all rows say, each thing once."""
        parts = [part for text in self.about[name] for part in text.split(", ") if part]
        return ", ".join(dict.fromkeys(parts))


def name_of(value: Any, level: str) -> str:
    """What a row or column is called that holds what has this value at a level of its names."""
    return f"no {level}" if pd.isna(value) else str(value)


def column_runs(columns: tuple[Column, ...]) -> list[tuple[str, int]]:
    """Heads with the number of neighbouring columns below each."""
    runs: list[tuple[str, int]] = []
    for column in columns:
        if runs and runs[-1][0] == column.head:
            runs[-1] = (column.head, runs[-1][1] + 1)
        else:
            runs.append((column.head, 1))
    return runs
