"""A table as the page shows it: rounded text, and the full value beside it for sorting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Cell(NamedTuple):
    """One cell.

    Attributes:
        text: as shown.
        value: in full precision, for sorting and copying; None: the text is all there is.
        mark: ``best``, ``second`` or nothing.
        hint: shown on hovering, and small below the text.
    """

    text: str
    value: float | int | str | None = None
    mark: str = ""
    hint: str = ""


class Head(NamedTuple):
    """A column's name, and whether it holds numbers."""

    text: str
    is_number: bool = True


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes:
        caption: one line.
        heads: of the columns; the first ``stub`` of them name the row.
        rows: as many cells as heads each.
        stub: how many columns name the row.
        notes: sentences below.
    """

    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    stub: int = 1
    notes: tuple[str, ...] = ()


def number(value: Any, digits: int, *, hint: str = "", mark: str = "") -> Cell:
    """A number rounded to digits after the point; an empty cell where there is none."""
    if value is None or pd.isna(value):
        return Cell("")
    return Cell(f"{value:.{digits}f}", float(value), mark, hint)


def plain(value: Any) -> Cell:
    """Any other value as it is; an empty cell for None and NaN."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return Cell("")
    return Cell(str(value), value if isinstance(value, int) else None)


def table_of(caption: str, rows: Sequence[Mapping[str, Any]], **parts: Any) -> Grid:
    """A grid of rows that all have the same names."""
    names = list(rows[0]) if rows else []
    heads = tuple(Head(name, _is_number(rows, name)) for name in names)
    cells = tuple(tuple(plain(row[name]) for name in names) for row in rows)
    return Grid(caption, heads, cells, **parts)


def _is_number(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(isinstance(row[name], (int, float)) for row in rows)
