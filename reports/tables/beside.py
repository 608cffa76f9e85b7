"""A table with the published numbers beside it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..imagenet_c.corruption_rows import ATTACK
from ..merging.runs import Runs
from ..published import Published, differences, own_interval, published_numbers, verdict
from ..statistics.comparable import METRICS
from ..statistics.intervals import Interval
from .presets.table2 import SCORES
from .sheet import ABOUT, Column, Sheet

COLUMNS = (
    Column("ours"),
    Column("published"),
    Column("difference"),
    Column("95 % from", digits=2),
    Column("to", digits=2),
    Column("verdict", digits=None),
)
NOTE = (
    "Published: the Twicing paper (ICLR 2025), whose checkpoints are not ours. Difference: ours "
    "minus published, with the 95 % Wilson interval of ours; they agree where it holds 0."
)


class Beside(NamedTuple):
    """One number of ours with its published one."""

    row: int
    column: int
    entry: int
    number: Published


def beside_published(sheet: Sheet, runs: Runs, table: pd.DataFrame) -> Sheet | None:
    """Ours and published, one number a row; None where nothing of it is published.

    Args:
        sheet: a table of labels (rows) under conditions.
        runs: merged runs.
        table: their `results`.
    """
    found = list(_pairs(sheet, runs, table))
    if not found:
        return None
    lines = [_line(sheet, runs, table, each) for each in found]
    names = [
        (" ".join(sheet.row_names[each.row]), sheet.columns[each.column].full_name)
        for each in found
    ]
    frame = pd.DataFrame(lines, index=pd.MultiIndex.from_tuples(names, names=["model", "number"]))
    about = sheet.about.iloc[[each.row for each in found]].set_axis(frame.index)
    return Sheet(
        f"{sheet.name}-published",
        f"{sheet.title}: beside the published numbers",
        frame,
        COLUMNS,
        about[list(ABOUT)],
        groups=tuple(label for label, _ in names),
        entries=np.full(frame.shape, -1, np.int64),
        notes=(NOTE,),
    )


def _pairs(sheet: Sheet, runs: Runs, table: pd.DataFrame) -> Iterator[Beside]:
    known = published_numbers()
    for row, names in enumerate(sheet.row_names):
        own = table[table["label"] == names[0]]
        if own.empty:
            continue
        model = str(own["model"].iloc[0])
        corrupted = own.index[own["attack"] == ATTACK]
        scores = {column: name for name, column in SCORES.items()}
        for position, column in enumerate(sheet.columns):
            entry = -1 if sheet.entries is None else int(sheet.entries[row, position])
            metric, condition = column.metric, ""
            if column in scores and len(corrupted):
                entry, metric, condition = int(corrupted[0]), scores[column], ATTACK
            elif entry >= 0:
                condition = runs.entries[entry].condition.id
            number = known.get((model, condition, metric))
            if number is not None and sheet.cell(row, position):
                yield Beside(row, position, entry, number)


def _line(sheet: Sheet, runs: Runs, table: pd.DataFrame, each: Beside) -> list[float | str | None]:
    ours: Any = sheet.frame.iat[each.row, each.column]
    n_images, published = int(table["n_images"].iloc[each.entry]), each.number.value
    interval: Interval | None = None
    if sheet.columns[each.column].metric in METRICS:
        interval = own_interval(ours, n_images)
    reasons = list(differences(runs.entries[each.entry], each.number, n_images))
    bounds = [None, None] if interval is None else [bound - published for bound in interval]
    said = verdict(reasons, interval, published)
    return [ours, published, ours - published, *bounds, said]
