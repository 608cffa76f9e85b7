"""The table a person reads on the terminal."""

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from robustbench_twicing.records import RunFolder

from .explanations import explain_flag


def print_results(run: RunFolder, table: pd.DataFrame, console: Console) -> None:
    """Print one section per label and data set, then what must be known about the numbers.

    Args:
        run: for the sentences about models and data.
        table: `results` of the run.
        console: where to.
    """
    for (label, dataset, protocol), rows in table.groupby(
        ["label", "dataset", "protocol"], sort=False
    ):
        console.print(_section(f"{label} on {dataset}, protocol {protocol}", rows))
    for sentence in _sentences(run, table):
        console.print(f"- {sentence}", markup=False, highlight=False)


def _section(title: str, rows: pd.DataFrame) -> Table:
    table = Table(title=escape(title), title_justify="left")
    table.add_column("condition", no_wrap=True)
    for name in ("top-1 %", "95 % range", "top-5 %", "robust %", "change/255", "images"):
        table.add_column(name, justify="right", no_wrap=True)
    for _, row in rows.iterrows():
        if row["status"] != "ok":
            table.add_row(
                row["condition"], str(row["status"]), "", "", "", "", str(row["n_images"])
            )
            continue
        table.add_row(
            row["condition"],
            f"{row['top1']:.2f}",
            f"{row['top1_ci_low']:.1f}-{row['top1_ci_high']:.1f}",
            f"{row['top5']:.2f}",
            f"{row['robust_top1']:.2f}",
            f"{row['linf_255_max']:.3g}",
            str(row["n_images"]),
        )
    return table


def _sentences(run: RunFolder, table: pd.DataFrame) -> list[str]:
    """What a reader must know: flags, notes, skipped images, failures."""
    found: list[str] = []
    flags = dict.fromkeys(flag for cell in table["flags"] for flag in cell.split(";") if flag)
    found += [f"{flag}: {explain_flag(flag)}" for flag in flags]
    for evaluation in run.manifest.evaluations:
        found += [f"{evaluation.label}: {note}" for note in evaluation.record["notes"]]
        found += [f"{evaluation.dataset['name']}: {note}" for note in evaluation.dataset["notes"]]
        found += _not_scored(run, evaluation.label)
    return list(dict.fromkeys(found))


def _not_scored(run: RunFolder, label: str) -> list[str]:
    found = []
    for evaluation in run.manifest.evaluations:
        if evaluation.label != label:
            continue
        frame = run.records(evaluation).frame
        rows = frame[frame["status"] == "error"].drop_duplicates(["condition", "message"])
        for condition, message in zip(rows["condition"], rows["message"], strict=True):
            found.append(f"{label}: {condition} failed and is not scored: {message}")
        skipped = frame[frame["status"] == "skipped"].drop_duplicates("image")
        found += [f"skipped: {message}" for message in skipped["message"]]
    return found
