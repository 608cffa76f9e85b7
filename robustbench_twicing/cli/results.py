"""Results as eval, report, compare and demo show and save them, and the exit status."""

import sys
from pathlib import Path

import pandas as pd

from reports import Runs, save_corruption_scores, save_results
from reports.console import print_report
from reports.metrics.radii import radius_curves, save_radii
from reports.metrics.transfer import save_transfers, transfer_rates
from reports.statistics.comparison import Comparison, save_comparison
from reports.tables.comparing import comparison_tables
from reports.tables.formats import FORMATS, write_tables

from ..errors import UserError
from .signals import DONE, ERROR_ROWS, INCOMPLETE
from .terminal import Console


def show_results(
    runs: Runs,
    table: pd.DataFrame,
    scores: pd.DataFrame,
    *,
    folder: Path | None,
    must_save: bool = False,
) -> None:
    """Print the tables; write the CSV files where they belong, in the folder of a single run.

    Neither is lost where the other fails: they are written first, and what went wrong with that is
    said last.

    Args:
        runs: merged runs.
        table: `results` of them.
        scores: `corruption_scores` of them.
        folder: of the run; None where there are several, and nothing is written.
        must_save: whether files that cannot be written are an error, or a line.

    Raises:
        UserError: a file that must be written cannot be.
    """
    console = Console()
    paths, problem = list[Path](), None
    try:
        if folder is not None:
            paths = save_tables(runs, table, scores, folder)
    except UserError as error:
        problem = error
    print_report(runs, table, scores, console)
    for path in paths:
        console.print(f"results: {path}", soft_wrap=True, highlight=False, markup=False)
    if problem is not None and must_save:
        raise problem
    if problem is not None:
        sys.stderr.write(f"{problem}; --out DIR writes into another folder\n")


def save_tables(runs: Runs, table: pd.DataFrame, scores: pd.DataFrame, folder: Path) -> list[Path]:
    """Write results.csv, and other files of `reports` where there is something for them.

    These are corruption_scores.csv, radii.csv, curves.csv and transfer.csv.

    Args:
        runs: merged runs.
        table: `results` of merged runs.
        scores: `corruption_scores` of them.
        folder: where to.

    Returns:
        Paths of the files, results.csv first.

    Raises:
        UserError: a file cannot be written.
    """
    paths = [save_results(table, folder)]
    if not scores.empty:
        paths.append(save_corruption_scores(scores, folder))
    paths += save_radii(radius_curves(runs, table), folder)
    return paths + save_transfers(transfer_rates(runs, table), folder)


def exit_status(table: pd.DataFrame) -> int:
    """3 with error rows, 4 with images missing, else 0."""
    if (table["status"] == "error").any():
        return ERROR_ROWS
    return INCOMPLETE if (table["status"] == "incomplete").any() else DONE


def write_comparison(comparison: Comparison, out: Path) -> list[Path]:
    """Write comparison.csv, changed.csv and the tables in the other formats; their paths.

    Args:
        comparison: of models with one of them.
        out: folder.

    Raises:
        UserError: a file cannot be written.
    """
    names = [name for name in FORMATS if name != "csv"]
    tables = comparison_tables(comparison)
    return save_comparison(comparison, out) + write_tables(tables, out, names)
