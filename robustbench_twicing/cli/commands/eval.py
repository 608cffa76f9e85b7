"""eval: evaluate checkpoints into a run folder."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..request.command import add_command
from ..request.options import RUN, EvalOptions
from ..run import evaluate_and_show
from ..signals import DONE, ERROR_ROWS

ALL_IMAGES = 2**31
"""More than a data set has."""
TRANSFER = "transfer"
"""Folder of the second run, in that of the first, and the preset that shows both."""


@dataclass(frozen=True)
class TransferOptions(EvalOptions):
    """Those of an evaluation, and whether every model is shown the others' images."""

    transfer: Annotated[
        bool,
        typer.Option(
            "--transfer",
            help="Score each model's adversarial images on all; into OUT/transfer.",
            rich_help_panel=RUN,
        ),
    ] = False


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(
        app,
        "eval",
        run,
        help_text="Evaluate checkpoints on images; continues a run.",
        options=TransferOptions,
    )


def run(options: TransferOptions) -> int:
    """Load, evaluate, write results.csv, print the table.

    Returns:
        Exit status.
    """
    return _run_and_transfer(options) if options.transfer else evaluate_and_show(options)


def _run_and_transfer(options: TransferOptions) -> int:
    """Attack every model, then score what was saved of each on all of them.

    The same command continues whichever of the two runs was stopped.
    """
    from ..request.request import default_out
    from ..request.transfer import make_sources_request, make_transfer_request

    saved = options.save_adversarial or ALL_IMAGES
    out = options.out or str(default_out(next(iter(options.model), "")))
    attacked = replace(options, save_adversarial=saved, out=out)
    status = evaluate_and_show(attacked, make_sources_request)
    if status not in (DONE, ERROR_ROWS):
        return status
    second = Path(out) / TRANSFER
    on_all = replace(options, save_adversarial=0, out=str(second))
    again = evaluate_and_show(on_all, partial(make_transfer_request, [Path(out)]))
    if again in (DONE, ERROR_ROWS):
        _show([Path(out), second])
    return max(status, again)


def _show(folders: list[Path]) -> None:
    from reports import corruption_scores, merge, results, with_worst
    from reports.tables.formats.as_console import print_table

    from ..run_folders import open_runs
    from ..tables import TableOptions, make_tables
    from ..terminal import Console

    runs = with_worst(merge(open_runs(folders)))
    table = results(runs)
    for made in make_tables(runs, table, corruption_scores(table), TableOptions(TRANSFER, eps=[])):
        print_table(made, Console())
