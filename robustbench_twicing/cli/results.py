"""Results as eval, report, compare and demo show and save them, and the exit status."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from reports import save_corruption_scores, save_results
from reports.console import print_report
from reports.metrics.radii import radius_curves, save_radii
from reports.metrics.transfer import save_transfers, transfer_rates
from reports.statistics.comparison import Comparison, save_comparison
from reports.tables.comparing import comparison_tables
from reports.tables.formats import FORMATS, write_tables

from ..errors import UserError
from ..evaluation.distributed import Team, join_team
from ..records.parts import DamagedPartError
from .options.evaluation import EvalOptions
from .options.printed import Output, OutputOptions
from .run import EvalStatus, evaluate, images_left
from .run_folders import Results, read_runs, results_of
from .signals import DONE, ERROR_ROWS, INCOMPLETE
from .terminal import Console, print_records

if TYPE_CHECKING:
    from ..evaluation.options import Shard
    from ..records.run_folder import RunFolder
    from .request.request import Request

PLAIN = Output()
"""Tables, flags and where the files are."""


def evaluate_and_show(
    options: OutputOptions,
    read: "Callable[[EvalOptions], Request] | None" = None,
    *,
    prints: bool = True,
) -> int:
    """Load, evaluate, write results.csv, print the table.

    Args:
        options: as typed.
        read: as `evaluate` takes it.
        prints: whether the results are printed, or written alone.

    Returns:
        Exit status.
    """
    team = join_team()
    attempt = partial(_attempt, options, team, read, prints=prints)
    try:
        done, status = attempt()
    except DamagedPartError:
        # The disk has changed a file without its times, which is known now. Others of a team have
        # ended, and whoever starts it again is told to.
        if team.size > 1:
            raise
        done, status = attempt()
    if not team.is_main:
        return DONE
    folder = done.run.folder
    for line in done.models_left_out:
        _say(line, options.output)
        status = ERROR_ROWS
    if folder.complete or not done.unfinished:
        return status
    sys.stderr.write(f"{done.unfinished}\n")
    return INCOMPLETE if status == DONE else status


def _attempt(
    options: OutputOptions,
    team: Team,
    read: "Callable[[EvalOptions], Request] | None",
    *,
    prints: bool,
) -> tuple[EvalStatus, int]:
    """Evaluate and show; the exit status is that of the rows."""
    done = evaluate(options, team, read=read, quiet=options.quiet)
    if not team.is_main:
        return done, DONE
    folder, complete = done.run.folder, done.run.complete
    show = partial(_show, folder, done.shard, options.output, prints=prints)
    status = show()
    if folder.complete and not complete:
        # Another process finished the last part meanwhile, and its results.csv may have been
        # written over by this one's, which lacks that part.
        status = show()
    return done, status


def _show(folder: "RunFolder", shard: "Shard", output: Output, *, prints: bool) -> int:
    """Save and show what there is now; the exit status, for which a shard needs its own parts."""
    results = results_of(read_runs([folder], quiet=output.quiet))
    if prints:
        show_results(results, folder=folder.path, must_save=True, output=output)
    else:
        save_tables(results, folder.path)
    status = exit_status(results.table)
    if status == INCOMPLETE and shard.count > 1 and not images_left(folder, shard):
        _say(f"shard {shard.index}/{shard.count} is done; report merges when all are.", output)
        return DONE
    return status


def _say(line: str, output: Output) -> None:
    """Below the tables; on standard error where standard output holds records."""
    Console(stderr=output.json).print(line, soft_wrap=True, highlight=False, markup=False)


def show_results(
    results: Results,
    *,
    folder: Path | None,
    must_save: bool = False,
    output: Output = PLAIN,
) -> None:
    """Print tables or records; write the CSV files where they belong, in a single run's folder.

    Neither is lost where the other fails: they are written first, and what went wrong with that is
    said last.

    Args:
        results: what the runs came to.
        folder: of the run; None where there are several, and nothing is written.
        must_save: whether files that cannot be written are an error, or a line.
        output: what is printed.

    Raises:
        UserError: a file that must be written cannot be.
    """
    console = Console()
    paths, problem = list[Path](), None
    try:
        if folder is not None:
            paths = save_tables(results, folder)
    except UserError as error:
        problem = error
    if output.json:
        print_results_json(results.table)
    else:
        print_report(*results, console, notes=output.shown_notes)
    for path in [] if output.json or output.quiet else paths:
        console.print(f"results: {path}", soft_wrap=True, highlight=False, markup=False)
    if problem is not None and must_save:
        raise problem
    if problem is not None:
        sys.stderr.write(f"{problem}; --out DIR writes into another folder\n")


def save_tables(results: Results, folder: Path) -> list[Path]:
    """Write results.csv, and other files of `reports` where there is something for them.

    These are corruption_scores.csv, radii.csv, curves.csv and transfer.csv.

    Args:
        results: what the runs came to.
        folder: where to.

    Returns:
        Paths of the files, results.csv first.

    Raises:
        UserError: a file cannot be written.
    """
    runs, table, scores = results
    paths = [save_results(table, folder)]
    if not scores.empty:
        paths.append(save_corruption_scores(scores, folder))
    paths += save_radii(radius_curves(runs, table), folder)
    return paths + save_transfers(transfer_rates(runs, table), folder)


def print_results_json(table: pd.DataFrame) -> None:
    """Print rows of results or of a comparison as JSON; what is not there is null."""
    print_records(table.astype(object).where(table.notna(), None).to_dict("records"))


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
