"""ImageNet-C on the terminal: errors by corruption and severity, and the numbers made of them."""

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from robustbench_twicing.imagenet_c import EXTRA, SEVERITIES

from .corruption_rows import corruption_rows
from .corruption_scores import GROUP, INCOMPLETE

MOST_MISSING = 4
"""Corruptions that one line names."""
MARKS = {"error": "error", INCOMPLETE: "part"}
"""What stands in place of an error that there is none of."""


def print_corruptions(results: pd.DataFrame, scores: pd.DataFrame, console: Console) -> None:
    """Print a table and a few lines for every label, data set, protocol and source.

    Args:
        results: columns of results.csv.
        scores: `corruption_scores` of them.
        console: where to.
    """
    rows = corruption_rows(results)
    numbers = dict(list(scores.groupby(GROUP, sort=False)))
    for key, group in rows.groupby(GROUP, sort=False):
        label, dataset, protocol, source = map(str, group[GROUP].iloc[0])
        found = numbers[key]
        images = f"{group['n_images'].max()} images"
        title = f"{label} on {dataset}, {images}, {source}, protocol {protocol}: top-1 error %"
        console.print(title, style="italic", markup=False, highlight=False)
        console.print(_table(group, found))
        for line in _lines(found, source):
            console.print(line, markup=False, highlight=False)


def _table(rows: pd.DataFrame, scores: pd.DataFrame) -> Table:
    """One row per corruption; the extra ones, which are not part of mCE, below a line."""
    table = Table()
    table.add_column("corruption", no_wrap=True)
    for name in (*map(str, SEVERITIES), "mean", "CE %"):
        table.add_column(name, justify="right", no_wrap=True)
    names = list(rows["corruption"].unique())
    main = [name for name in names if name not in EXTRA]
    for name in [*main, *(name for name in names if name in EXTRA)]:
        own = rows[rows["corruption"] == name]
        cells = {row["severity"]: _cell(row) for row in own.to_dict("records")}
        numbers = scores[scores["corruption"] == name].set_index("number")["percent"]
        table.add_row(
            name,
            *(cells.get(severity, "") for severity in SEVERITIES),
            *(_percent(numbers[number]) for number in ("mean error", "CE")),
            end_section=name in main[-1:],
        )
    return table


def _cell(row: Mapping[Hashable, Any]) -> str:
    return f"{100 * row['error']:.1f}" if row["status"] == "ok" else MARKS[row["status"]]


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1f}"


def _lines(scores: pd.DataFrame, source: str) -> Iterator[str]:
    """The numbers over several corruptions, each by its name, marked with the images' source."""
    overall = scores[scores["corruption"] == ""]
    for row in overall[overall["status"] == "ok"].to_dict("records"):
        images = f" on {row['normaliser_images']}" if row["normaliser_images"] else ""
        unit = f"unit {row['normaliser']}{images}" if row["normaliser"] else "no unit: not mCE"
        yield f"{row['number']}: {row['percent']:.2f} % ({source}, {unit})"
    for (status, missing), rows in overall.groupby(["status", "missing"], sort=False):
        if status != "ok":
            why = "missing: " if status == INCOMPLETE else ""
            names = ", ".join(rows["number"])
            yield f"{names}: {status}, no value ({source}); {why}{_some(str(missing))}"


def _some(missing: str) -> str:
    """The first few of what is missing; corruption_scores.csv has all of it."""
    parts = missing.split("; ")
    rest = f" and {len(parts) - MOST_MISSING} more" if len(parts) > MOST_MISSING else ""
    return "; ".join(parts[:MOST_MISSING]) + rest
