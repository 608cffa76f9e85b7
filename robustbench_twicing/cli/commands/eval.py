"""eval: evaluate checkpoints into a run folder."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ...errors import UserError
from ..request.command import add_command
from ..request.options import EvalOptions
from ..run import evaluate, images_left
from ..signals import DONE, ERROR_ROWS, INCOMPLETE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ...evaluation.options import Share
    from ...records.run_folder import RunFolder


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "eval", run, help_text="Evaluate checkpoints on images; continues a run.")


def run(options: EvalOptions) -> int:
    """Load, evaluate, write results.csv, print the table.

    Returns:
        Exit status.
    """
    from ...evaluation.distributed import join_team

    with join_team(device=options.device) as team:
        done = evaluate(options, team)
        if not team.leads:
            return DONE
        folder, complete = done.run.folder, done.run.complete
        status = show_results([folder], share=done.share, must_save=True)
        if folder.complete and not complete:
            # Another process finished the last part meanwhile, and its results.csv may have been
            # written over by this one's, which lacks that part.
            status = show_results([folder], share=done.share, must_save=True)
    if folder.complete or not done.unfinished:
        return status
    sys.stderr.write(f"{done.unfinished}\n")
    return INCOMPLETE if status == DONE else status


def show_results(
    folders: "Sequence[RunFolder]",
    *,
    share: "Share | None" = None,
    normaliser: str | None = None,
    must_save: bool = False,
) -> int:
    """Print the tables; write the CSV files where they belong, in the folder of a single run.

    Neither is lost where the other fails: they are written first, and what went wrong with that is
    said last.

    Args:
        folders: of the runs.
        share: of the runs, where it is not the whole.
        normaliser: of mCE, as `read_normaliser` takes it; None for AlexNet.
        must_save: whether files that cannot be written are an error, or a line.

    Returns:
        The exit status that the rows ask for.

    Raises:
        UserError: a file that must be written cannot be.
    """
    from reports import merge, print_results, read_normaliser, results

    from ..terminal import Console

    baseline = None if normaliser is None else read_normaliser(normaliser)
    runs = merge(folders)
    table = results(runs)
    console = Console()
    paths, problem = list[Path](), None
    try:
        if len(folders) == 1:
            paths = save_tables(table, folders[0].path, normaliser=normaliser)
    except UserError as error:
        problem = error
    print_results(runs, table, console, baseline=baseline)
    for path in paths:
        console.print(f"results: {path}", soft_wrap=True, highlight=False, markup=False)
    if problem is not None and must_save:
        raise problem
    if problem is not None:
        sys.stderr.write(f"{problem}; --out DIR writes into another folder\n")
    status = exit_status(table)
    if status == INCOMPLETE and share and share.shards > 1 and not _left(folders, share):
        console.print(f"share {share.number}/{share.shards} is done; report merges when all are.")
        return DONE
    return status


def save_tables(table: "pd.DataFrame", folder: Path, *, normaliser: str | None) -> list[Path]:
    """Write results.csv, and corruption_scores.csv where there is one."""
    from reports import corruption_scores, read_normaliser, save_corruption_scores, save_results

    baseline = None if normaliser is None else read_normaliser(normaliser)
    scores = corruption_scores(table, baseline=baseline)
    paths = [save_results(table, folder)]
    return paths if scores.empty else [*paths, save_corruption_scores(scores, folder)]


def exit_status(table: "pd.DataFrame") -> int:
    """3 with error rows, 4 with images missing, else 0."""
    if (table["status"] == "error").any():
        return ERROR_ROWS
    return INCOMPLETE if (table["status"] == "incomplete").any() else DONE


def _left(folders: "Sequence[RunFolder]", share: "Share") -> int:
    return sum(images_left(folder, share) for folder in folders)
