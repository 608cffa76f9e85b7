"""A table with the published numbers beside it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
    Column("diff."),
    Column("from", digits=1, key="difference_ci_low"),
    Column("to", digits=1, key="difference_ci_high"),
    Column("verdict", digits=None),
)
NOTE = (
    "Published: the Twicing paper (ICLR 2025), whose checkpoints are not ours. diff.: ours minus "
    "published; from, to: the 95 % Wilson interval of ours, minus published; they agree where it "
    "holds 0."
)
NO_INTERVAL = "it has no interval"


def beside_published(table: Table, runs: Runs, results: pd.DataFrame) -> Table | None:
    """Ours and published, one number a row; None where nothing of it is published.

    Why numbers are not judged is said once: in the title where it is true of all, else in a note
    that the verdict names by its number.

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
    of_all = [
        reason for reason in lines[0].reasons if all(reason in line.reasons for line in lines)
    ]
    of_some = [reason for line in lines for reason in line.reasons if reason not in of_all]
    numbers = {reason: number for number, reason in enumerate(dict.fromkeys(of_some), 1)}
    index = pd.MultiIndex.from_tuples(names, names=["model", "number"])
    frame = pd.DataFrame([[*line.numbers, line.cell(numbers)] for line in lines], index=index)
    about = table.about.iloc[[row for row, *_ in pairs]].set_axis(frame.index)
    none = f"; none is judged: {'; '.join(of_all)}" if of_all else ""
    return Table(
        f"{table.name}-published",
        f"{table.title}: beside the published numbers{none}",
        frame,
        COLUMNS,
        about,
        groups=tuple(label for label, _ in names),
        stacked=True,
        notes=(*(f"{number}: {reason}." for reason, number in numbers.items()), NOTE),
    )


class _Line(NamedTuple):
    """A row: its numbers, the verdict, and why there is none."""

    numbers: list[float | None]
    verdict: str
    reasons: list[str]

    def cell(self, numbers: Mapping[str, int]) -> str:
        """The verdict with the numbers of the reasons that have one."""
        places = ",".join(str(numbers[name]) for name in self.reasons if name in numbers)
        return f"{self.verdict} {places}".strip()


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
) -> _Line:
    ours: Any = table.frame.iat[row, column]
    n_images, published = int(results["n_images"].iloc[entry]), number.value
    interval: Interval | None = None
    if table.columns[column].metric in METRICS:
        interval = own_interval(ours, n_images)
    reasons = list(differences(runs.entries[entry], number, n_images))
    bounds = [None, None] if interval is None else [bound - published for bound in interval]
    judged = verdict(reasons, interval, published)
    reasons += [NO_INTERVAL] if interval is None else []
    return _Line([ours, published, ours - published, *bounds], judged, reasons)
