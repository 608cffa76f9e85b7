"""A table with the published numbers beside it."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..imagenet_c.corruption_rows import ATTACK
from ..merging.runs import Runs
from ..published import Published, differences, own_interval, published_numbers, verdict
from ..statistics.comparable import METRICS
from ..statistics.intervals import Interval
from .presets.table2 import SCORES
from .table import Column, Table

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


def beside_published(table: Table, runs: Runs, results: pd.DataFrame) -> Table | None:
    """Ours and published, one number a row; None where nothing of it is published.

    Args:
        table: a table of labels (rows) under conditions.
        runs: merged runs.
        results: their `results`.
    """
    pairs = list(_pairs(table, runs, results))
    if not pairs:
        return None
    names = [
        (" ".join(table.row_names[row]), table.columns[column].full_name)
        for row, column, *_ in pairs
    ]
    lines = [_line(table, runs, results, *pair) for pair in pairs]
    frame = pd.DataFrame(lines, index=pd.MultiIndex.from_tuples(names, names=["model", "number"]))
    about = table.about.iloc[[row for row, *_ in pairs]].set_axis(frame.index)
    return Table(
        f"{table.name}-published",
        f"{table.title}: beside the published numbers",
        frame,
        COLUMNS,
        about,
        groups=tuple(label for label, _ in names),
        notes=(NOTE,),
    )


def _pairs(
    table: Table, runs: Runs, results: pd.DataFrame
) -> Iterator[tuple[int, int, int, Published]]:
    """Row, column and entry of each number of ours that has a published one, and that."""
    published = published_numbers()
    scores = {column: name for name, column in SCORES.items()}
    for row, names in enumerate(table.row_names):
        of_label = results[results["label"] == names[0]]
        if of_label.empty:
            continue
        model = str(of_label["model"].iloc[0])
        corrupted = of_label.index[of_label["attack"] == ATTACK]
        for position, column in enumerate(table.columns):
            entry = int(table.entries[row, position])
            metric, condition = column.metric, ""
            if column in scores and len(corrupted):
                entry, metric, condition = int(corrupted[0]), scores[column], ATTACK
            elif entry >= 0:
                condition = runs.entries[entry].condition.id
            number = published.get((model, condition, metric))
            if number is not None and table.cell(row, position):
                yield row, position, entry, number


def _line(
    table: Table,
    runs: Runs,
    results: pd.DataFrame,
    row: int,
    column: int,
    entry: int,
    number: Published,
) -> list[float | str | None]:
    ours: Any = table.frame.iat[row, column]
    n_images, published = int(results["n_images"].iloc[entry]), number.value
    interval: Interval | None = None
    if table.columns[column].metric in METRICS:
        interval = own_interval(ours, n_images)
    reasons = list(differences(runs.entries[entry], number, n_images))
    bounds = [None, None] if interval is None else [bound - published for bound in interval]
    return [ours, published, ours - published, *bounds, verdict(reasons, interval, published)]
