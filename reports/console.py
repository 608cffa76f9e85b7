"""The table a person reads on the terminal."""

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from robustbench_twicing.imagenet_c import PREFIX

from .corruption_console import print_corruptions
from .corruption_error import Baseline
from .corruption_scores import corruption_scores
from .merging import Runs
from .notes import common_flags, flags_of, notes

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
    for sentence in notes(runs, table):
        console.print(f"- {sentence}", markup=False, highlight=False)


def _section(title: str, rows: pd.DataFrame) -> Table:
    table = Table(title=escape(title), title_justify="left")
    table.add_column("condition", overflow="fold")  # long names lose no letter
    for name in SCORED:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("!", no_wrap=True)
    common = common_flags(rows)
    for _, row in rows.iterrows():
        marks = "!" * len(flags_of(row["flags"]) - common)
        if row["status"] != "ok":
            images = f"{row['n_images']} images"
            table.add_row(escape(row["condition"]), str(row["status"]), images, "", "", "", marks)
            continue
        few = row["n_images"] < rows["n_images"].max()
        table.add_row(
            escape(row["condition"] + (f" ({row['n_images']} images)" if few else "")),
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
