"""The table a person reads on the terminal."""

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd
from rich.console import Console

from robustbench_twicing.data.imagenet_c import EXTRA, SEVERITIES
from robustbench_twicing.files.printable import count

from .imagenet_c.corruption_error import KIND, ReferenceErrors
from .imagenet_c.corruption_rows import CORRUPTED, corruption_rows
from .imagenet_c.corruption_scores import (
    GROUP,
    INCOMPLETE,
    corruption_scores,
    kind_of,
    shortened,
)
from .merging.runs import Runs
from .metrics.flags import Amount, explain_flag
from .metrics.notes import brief, common_flags, flags_of, mean_and_spread
from .metrics.notes import notes as every_note
from .tables.formats.as_console import print_columns, print_notes, print_title
from .tables.formats.layout import TextColumn
from .text.condition_names import with_short_names

MARKS = {"error": "error", INCOMPLETE: "part"}
"""What stands in place of a corruption's error where it has none."""
SCORED = (
    *("top-1 %", "95 % CI", "mean of draws %", "top-5 %", "robust %", "change/255"),
    "goal hit %",
)
OPTIONAL = ("mean of draws %", "goal hit %", "!")
"""Columns that are left out where no row has anything there."""


def print_results(
    runs: Runs, table: pd.DataFrame, console: Console, *, reference: ReferenceErrors | None = None
) -> None:
    """As `print_report`.

    Args:
        runs: for the sentences about models and data.
        table: `results` of the runs.
        console: where to.
        reference: the reference errors of CE and mCE, AlexNet unless given.
    """
    print_report(runs, table, corruption_scores(table, reference=reference), console)


def print_report(
    runs: Runs,
    table: pd.DataFrame,
    scores: pd.DataFrame,
    console: Console,
    *,
    notes: Amount = "full",
) -> None:
    """Print one section per label and data set, then what must be known about the numbers.

    Corruptions have tables of their own.

    Args:
        runs: for the sentences about models and data.
        table: `results` of the runs.
        scores: `corruption_scores` of the table.
        console: where to.
        notes: how many are printed; ``short`` sums up those that are no flag and no failure.
    """
    table = with_short_names(table)
    common = common_flags(table)
    subjects = table[~table["attack"].isin(CORRUPTED)].groupby(["label", "dataset"], sort=False)
    for (label, dataset), rows in subjects:
        for protocol, section in rows.groupby("protocol", sort=False):
            images = count(section["n_images"].max(), "image")
            title = f"{label} on {dataset}, {images}, protocol {protocol}"
            _print_section(title, section, common, console)
        if rows["protocol"].nunique() > 1:
            title = f"{label} on {dataset}: the protocols side by side, top-1 %"
            _print_side_by_side(title, rows, console)
    print_corruptions(table, scores, console)
    if notes != "none":
        print_notes(every_note(runs, table) if notes == "full" else brief(runs, table), console)


def _print_section(title: str, section: pd.DataFrame, common: set[str], console: Console) -> None:
    """A row per condition; flags that all rows of all tables have are said below alone."""
    most = section["n_images"].max()
    rows = [_cells(row, common, most) for _, row in section.iterrows()]
    name, *columns = (
        TextColumn(head, [row[place] for row in rows], is_name=not place)
        for place, head in enumerate(("condition", *SCORED, "!"))
        if head not in OPTIONAL or any(row[place] for row in rows)
    )
    print_title(title, console, style="italic")
    print_columns([name], columns, console)


def _cells(row: "pd.Series[Any]", common: set[str], most: int) -> list[str]:
    """Condition, the columns `SCORED`, and a mark for each flag that is not common to all."""
    marks = "!" * len(flags_of(row["flags"]) - common)
    if row["status"] != "ok":
        images = count(row["n_images"], "image")
        return [row["condition"], row["status"], images, "", "", "", "", "", marks]
    few = f" ({count(row['n_images'], 'image')})" if row["n_images"] < most else ""
    if pd.isna(row["top1"]):  # it finds distances
        accuracies = ["", "see radii", "", "", ""]
    else:
        interval = f"{row['top1_ci_low']:.1f}-{row['top1_ci_high']:.1f}"
        top1, top5, robust = (f"{row[name]:.2f}" for name in ("top1", "top5", "robust_top1"))
        accuracies = [top1, interval, mean_and_spread(row), top5, robust]
    return [
        f"{row['condition']}{few}",
        *accuracies,
        "" if pd.isna(row["linf_255_max"]) else f"{row['linf_255_max']:.3g}",
        "" if pd.isna(row["goal_hit"]) else f"{row['goal_hit']:.2f}",
        marks,
    ]


def _print_side_by_side(title: str, rows: pd.DataFrame, console: Console) -> None:
    """One row per condition id, one column per protocol; the pixels a budget allows beside it."""
    conditions = list(dict.fromkeys(rows["condition"]))
    columns = []
    for protocol, results in rows.groupby("protocol", sort=False):
        by_id = results.drop_duplicates("condition").set_index("condition").reindex(conditions)
        scored = by_id["top1"].where(by_id["status"] == "ok").astype(float)
        allowed = by_id["eps_pixel_255_max"].astype(float)
        columns += [
            TextColumn(
                str(protocol), list(scored.map("{:.2f}".format, na_action="ignore").fillna(""))
            ),
            TextColumn(
                "allows/255", list(allowed.map("{:.3g}".format, na_action="ignore").fillna(""))
            ),
        ]
    print_title(title, console, style="italic")
    print_columns([TextColumn("condition", conditions, is_name=True)], columns, console)


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
        images = count(group["n_images"].max(), "image")
        kind = kind_of(group)
        made = source if kind == KIND else f"{source} of {kind} (not ImageNet-C)"
        title = f"{label} on {dataset}, {images}, {made}, protocol {protocol}: top-1 error %"
        print_title(title, console, style="italic")
        _print_errors(group, numbers[key], console)
        for line in _lines(numbers[key], source):
            console.print(line, markup=False, highlight=False)


def _print_errors(rows: pd.DataFrame, scores: pd.DataFrame, console: Console) -> None:
    """One row per corruption; the extra ones, which are not part of mCE, below a line."""
    names = list(rows["corruption"].unique())
    main = [name for name in names if name not in EXTRA]
    ordered = [*main, *(name for name in names if name in EXTRA)]
    cells = {(row["corruption"], row["severity"]): _error(row) for row in rows.to_dict("records")}
    numbers = scores.set_index(["number", "corruption"])["percent"]
    columns = [
        TextColumn(str(severity), [cells.get((name, severity), "") for name in ordered])
        for severity in SEVERITIES
    ] + [
        TextColumn(head, [_percent(numbers[number, name]) for name in ordered])
        for head, number in (("mean", "mean error"), ("CE %", "CE"))
    ]
    ends = [len(main) - 1] if 0 < len(main) < len(ordered) else []
    print_columns([TextColumn("corruption", ordered, is_name=True)], columns, console, ends=ends)


def _error(row: Mapping[Hashable, Any]) -> str:
    return f"{100 * row['error']:.1f}" if row["status"] == "ok" else MARKS[row["status"]]


def _percent(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.1f}"


def _lines(scores: pd.DataFrame, source: str) -> Iterator[str]:
    """The numbers over several corruptions, each by its name, marked with the images' source."""
    overall = scores[scores["corruption"] == ""]
    for row in overall[overall["status"] == "ok"].to_dict("records"):
        images = f" on {row['normaliser_images']}" if row["normaliser_images"] else ""
        unit = f"unit {row['normaliser']}{images}" if row["normaliser"] else "a plain mean, not mCE"
        yield f"{row['number']}: {row['percent']:.2f} % ({source}, {unit})"
    for flag in filter(None, overall["flags"].unique()):
        yield f"{flag}: {explain_flag(flag)}"
    for (status, missing), rows in overall.groupby(["status", "missing"], sort=False):
        if status != "ok":
            why = "missing: " if status == INCOMPLETE else ""
            names = ", ".join(rows["number"])
            yield f"{names}: {status}, no value ({source}); {why}{shortened(str(missing))}"
