"""eval: evaluate checkpoints into a run folder."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from ..request.command import add_command
from ..request.options import EvalOptions
from ..run import evaluate, images_left
from ..signals import DONE, ERROR_ROWS, INCOMPLETE

if TYPE_CHECKING:
    from ...evaluation.options import Shard
    from ...records.run_folder import RunFolder
    from ..request.request import Request


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "eval", run, help_text="Evaluate checkpoints on images; continues a run.")


def run(options: EvalOptions, read: "Callable[[EvalOptions], Request] | None" = None) -> int:
    """Load, evaluate, write results.csv, print the table.

    Args:
        options: as typed.
        read: as `evaluate` takes it.

    Returns:
        Exit status.
    """
    from ...evaluation.distributed import join_team
    from ..terminal import Console

    team = join_team()
    done = evaluate(options, team, read=read)
    if not team.is_main:
        return DONE
    folder, complete = done.run.folder, done.run.complete
    status = _show(folder, done.shard)
    if folder.complete and not complete:
        # Another process finished the last part meanwhile, and its results.csv may have been
        # written over by this one's, which lacks that part.
        status = _show(folder, done.shard)
    for line in done.models_left_out:
        Console().print(line, soft_wrap=True, highlight=False, markup=False)
        status = ERROR_ROWS
    if folder.complete or not done.unfinished:
        return status
    sys.stderr.write(f"{done.unfinished}\n")
    return INCOMPLETE if status == DONE else status


def _show(folder: "RunFolder", shard: "Shard") -> int:
    """Save and show what the run folder holds now.

    Returns:
        The exit status that the rows ask for; a shard that is done needs no more images.
    """
    from reports import corruption_scores, merge, results, with_worst

    from ..results import exit_status, show_results
    from ..terminal import Console

    runs = with_worst(merge([folder]))
    table = results(runs)
    show_results(runs, table, corruption_scores(table), folder=folder.path, must_save=True)
    status = exit_status(table)
    if status == INCOMPLETE and shard.count > 1 and not images_left(folder, shard):
        Console().print(f"shard {shard.index}/{shard.count} is done; report merges when all are.")
        return DONE
    return status
