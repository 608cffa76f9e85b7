"""The table a person reads on the terminal."""

from collections.abc import Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from robustbench_twicing.imagenet_c import PREFIX
from robustbench_twicing.protocols import PROTOCOLS
from robustbench_twicing.records import Status

from .corruption_console import print_corruptions
from .corruption_error import Baseline
from .corruption_scores import corruption_scores
from .explanations import explain_flag
from .merging import Runs

MOST_NAMES = 6
"""Conditions that one sentence names."""
SCORED = ("top-1 %", "95 % range", "top-5 %", "robust %", "change/255")


def print_results(
    runs: Runs, table: pd.DataFrame, console: Console, *, baseline: Baseline | None = None
) -> None:
    """Print one section per label and data set, then what must be known about the numbers.

    Corruptions have tables of their own.

    Args:
        runs: for the sentences about models and data.
        table: `results` of the runs.
        console: where to.
        baseline: the normaliser of CE and mCE, AlexNet unless given.
    """
    subjects = table[table["attack"] != PREFIX].groupby(["label", "dataset"], sort=False)
    for (label, dataset), rows in subjects:
        for protocol, section in rows.groupby("protocol", sort=False):
            images = f"{section['n_images'].max()} images"
            console.print(_section(f"{label} on {dataset}, {images}, protocol {protocol}", section))
        if rows["protocol"].nunique() > 1:
            console.print(_side_by_side(f"{label}: the protocols side by side, top-1 %", rows))
    print_corruptions(table, corruption_scores(table, baseline=baseline), console)
    for sentence in _sentences(runs, table):
        console.print(f"- {sentence}", markup=False, highlight=False)


def _section(title: str, rows: pd.DataFrame) -> Table:
    table = Table(title=escape(title), title_justify="left")
    table.add_column("condition", no_wrap=True)
    for name in SCORED:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("!", no_wrap=True)
    common = _common_flags(rows)
    for _, row in rows.iterrows():
        marks = "!" * len(_flags_of(row["flags"]) - common)
        if row["status"] != "ok":
            images = f"{row['n_images']} images"
            table.add_row(escape(row["condition"]), str(row["status"]), images, "", "", "", marks)
            continue
        table.add_row(
            escape(row["condition"]),
            f"{row['top1']:.2f}",
            f"{row['top1_ci_low']:.1f}-{row['top1_ci_high']:.1f}",
            f"{row['top5']:.2f}",
            f"{row['robust_top1']:.2f}",
            "" if pd.isna(row["linf_255_max"]) else f"{row['linf_255_max']:.3g}",
            marks,
        )
    return table


def _side_by_side(title: str, rows: pd.DataFrame) -> Table:
    """One row per condition id, one column per protocol; the pixels a budget allows beside it."""
    protocols = list(rows["protocol"].unique())
    table = Table(title=escape(title), title_justify="left")
    table.add_column("condition", no_wrap=True)
    for protocol in protocols:
        table.add_column(protocol, justify="right")
        table.add_column("allows/255", justify="right")
    for condition, same in rows.groupby("condition", sort=False):
        cells = [escape(str(condition))]
        for protocol in protocols:
            found = same[same["protocol"] == protocol]
            scored = found[found["status"] == "ok"]
            cells.append(f"{scored['top1'].iloc[0]:.2f}" if len(scored) else "")
            cells.append(f"{found['eps_pixel_255_max'].iloc[0]:.3g}" if len(found) else "")
        table.add_row(*cells)
    return table


def _flags_of(cell: str) -> set[str]:
    return {flag for flag in cell.split(";") if flag}


def _common_flags(rows: pd.DataFrame) -> set[str]:
    """Flags that every row has; they are said once, below, and mark no row."""
    each = [_flags_of(cell) for cell in rows["flags"]]
    return set.intersection(*each) if each else set()


def _sentences(runs: Runs, table: pd.DataFrame) -> list[str]:
    """What a reader must know: protocols, flags, notes, skipped images, failures."""
    found = [
        f"protocol {name}: {PROTOCOLS[name].meaning}"
        for name in table["protocol"].unique()
        if name != "pixel" or table["protocol"].nunique() > 1
    ]
    found += [note for entry in runs.entries for note in entry.condition["notes"]]
    found += [f"{flag}: {explain_flag(flag)}" for flag in sorted(_common_flags(table))]
    found += _marked(table)
    for entry in runs.entries:
        label, dataset = entry.evaluation.label, entry.evaluation.dataset
        found += [f"{label}: {note}" for note in entry.evaluation.record["notes"]]
        found += [f"{dataset['name']}: {note}" for note in dataset["notes"]]
    return list(dict.fromkeys([*found, *_not_scored(runs), *runs.notes]))


def _marked(table: pd.DataFrame) -> list[str]:
    """The flags of some rows, each with the rows that have it."""
    several = table["label"].nunique() > 1
    rows: dict[str, list[str]] = {}
    for _, row in table.iterrows():
        name = f"{row['label']} {row['condition']}" if several else row["condition"]
        for flag in sorted(_flags_of(row["flags"]) - _common_flags(table)):
            rows.setdefault(flag, []).append(name)
    return [f"! {flag} ({_some(on)}): {explain_flag(flag)}" for flag, on in rows.items()]


def _some(names: Sequence[str]) -> str:
    """All of a few names; of many the first ones, and how many more."""
    rest = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + rest


def _not_scored(runs: Runs) -> list[str]:
    """Failures, missing files and skipped images; what failed alike is said once."""
    records = runs.records
    absent: dict[tuple[str, str], list[str]] = {}
    for status, what in ((Status.ERROR, "failed and is"), (Status.MISSING, "lacks images and is")):
        rows = records[records["status"] == status]
        rows = rows.drop_duplicates(["label", "dataset", "condition", "message"])
        if status == Status.MISSING:
            rows = rows.drop_duplicates(["label", "dataset", "condition"])
        for row in rows.to_dict("records"):
            key = (f"{row['label']}: ", f" {what} not scored: {row['message']}")
            absent.setdefault(key, []).append(str(row["condition"]))
    skipped = records[records["status"] == Status.SKIPPED]
    return [
        f"{label}{_some(list(dict.fromkeys(names)))}{why}" for (label, why), names in absent.items()
    ] + [f"skipped: {message}" for message in skipped["message"].unique()]
