"""eval: evaluate checkpoints into a run folder."""

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from .command import add_command
from .options import EvalOptions
from .progress import show_progress
from .status import DONE, ERROR_ROWS, INCOMPLETE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ..progress import Report, Step
    from ..records import RunFolder
    from ..runner import Run
    from .request import Request


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "eval", run, help_text="Evaluate checkpoints on images; continues a run.")


def run(options: EvalOptions) -> int:
    """Load, evaluate, write results.csv, print the table.

    Returns:
        Exit status.
    """
    done, share = evaluate(options)
    return show_results([done.folder], share=share)


def evaluate(options: EvalOptions) -> "tuple[Run, tuple[int, int]]":
    """Load and evaluate with progress; the run, and the share of it that was asked for."""
    from ..runner import evaluate_models
    from .request import default_out, make_request

    signal.signal(signal.SIGTERM, _interrupt)
    request = make_request(options)
    out = Path(options.out) if options.out else default_out(next(iter(request.models)))
    if request.said:
        sys.stderr.write(f"{request.said}\n")
    images, units = _work(request)
    with show_progress(images, units) as report:
        done = evaluate_models(
            request.models,
            request.tasks,
            out=out,
            options=request.options,
            left_out=request.left_out,
            report=_announce(out, report),
        )
    return done, request.options.shard


def _announce(out: Path, report: "Report") -> "Report":
    """Name the run folder once work is done in it; a mistake found before that stays one line."""
    said = False

    def told(step: "Step") -> None:
        nonlocal said
        if not (said or step.resumed):
            sys.stderr.write(f"run folder: {out}\n")
            said = True
        report(step)

    return told


def show_results(
    folders: "Sequence[RunFolder]",
    *,
    share: tuple[int, int] = (1, 1),
    normaliser: str | None = None,
) -> int:
    """Print the tables; write the CSV files where they belong, in the folder of a single run.

    Args:
        folders: of the runs.
        share: ``(i, n)`` of --shard.
        normaliser: of mCE, as `read_normaliser` takes it; None for AlexNet.

    Returns:
        The exit status that the rows ask for.
    """
    from rich.console import Console

    from reports import merge, print_results, read_normaliser, results

    baseline = None if normaliser is None else read_normaliser(normaliser)
    runs = merge(folders)
    table = results(runs)
    console = Console()
    print_results(runs, table, console, baseline=baseline)
    if len(folders) == 1:
        for path in save_tables(table, folders[0].path, normaliser=normaliser):
            console.print(f"results: {path}", soft_wrap=True, highlight=False, markup=False)
    status = exit_status(table)
    if status == INCOMPLETE and share[1] > 1:
        console.print(f"share {share[0]}/{share[1]} is done; report merges when all are.")
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


def _work(request: "Request") -> tuple[int, float]:
    from ..runner import units

    models = len(request.models)
    images = sum(len(task.data) for task in request.tasks)
    passes = sum(len(task.data) * units(task.conditions) for task in request.tasks)
    return models * images, models * passes


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A scheduler's SIGTERM is handled as Ctrl-C: what is finished is kept."""
    raise KeyboardInterrupt
