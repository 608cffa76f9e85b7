"""ImageNet-C on the terminal: errors by corruption and severity, and the numbers made of them."""

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd
from rich.console import Console

from robustbench_twicing.data.imagenet_c import EXTRA, SEVERITIES

from .imagenet_c.corruption_error import KIND
from .imagenet_c.corruption_rows import corruption_rows
from .imagenet_c.corruption_scores import GROUP, INCOMPLETE, kind_of, shortened
from .tables.formats.as_console import print_slots, print_title
from .tables.formats.layout import Slot

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
        kind = kind_of(group)
        made = source if kind == KIND else f"{source} of {kind} (not ImageNet-C)"
        title = f"{label} on {dataset}, {images}, {made}, protocol {protocol}: top-1 error %"
        print_title(title, console, style="italic")
        _print_table(group, found, console)
        for line in _lines(found, source):
            console.print(line, markup=False, highlight=False)


def _print_table(rows: pd.DataFrame, scores: pd.DataFrame, console: Console) -> None:
    """One row per corruption; the extra ones, which are not part of mCE, below a line."""
    names = list(rows["corruption"].unique())
    main = [name for name in names if name not in EXTRA]
    ordered = [*main, *(name for name in names if name in EXTRA)]
    cells = {(row["corruption"], row["severity"]): _cell(row) for row in rows.to_dict("records")}
    numbers = scores.set_index(["number", "corruption"])["percent"]
    columns = [
        Slot(str(severity), [cells.get((name, severity), "") for name in ordered])
        for severity in SEVERITIES
    ] + [
        Slot(head, [_percent(numbers[number, name]) for name in ordered])
        for head, number in (("mean", "mean error"), ("CE %", "CE"))
    ]
    ends = [len(main) - 1] if 0 < len(main) < len(ordered) else []
    print_slots([Slot("corruption", ordered, is_name=True)], columns, console, ends=ends)


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
            yield f"{names}: {status}, no value ({source}); {why}{shortened(str(missing))}"
