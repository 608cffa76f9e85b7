"""eval: evaluate checkpoints into a run folder, and show what came out."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..options.command import add_command
from ..options.evaluation import COMMON
from ..options.printed import Output, OutputOptions
from ..options.run import RUN
from ..signals import DONE, ERROR_ROWS

ALL_IMAGES = 2**31
"""More than a data set has."""
TRANSFER = "transfer"
"""Folder of the second run, in that of the first, and the preset that shows both."""
EXAMPLES = (
    "eval -m fmnist_fan=bundled --data fashion-mnist:test1000",
    "eval -m deit_tiny_patch16_224=FILE.pth --data DIR",
    "eval -m net.py:build --data DIR --attacks pgd --eps 4/255",
)


@dataclass(frozen=True)
class TransferOptions(OutputOptions):
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
        common=(*COMMON, "notes", "json", "quiet"),
        examples=EXAMPLES,
    )


def run(options: TransferOptions) -> int:
    """Load, evaluate, write results.csv, print the table.

    Returns:
        Exit status.
    """
    from ..results import evaluate_and_show

    return _run_and_transfer(options) if options.transfer else evaluate_and_show(options)


def _run_and_transfer(options: TransferOptions) -> int:
    """Attack every model, then score what was saved of each on all of them.

    The same command continues whichever of the two runs was stopped.
    """
    from ..request.request import default_out
    from ..request.transfer import make_sources_request, make_transfer_request
    from ..results import evaluate_and_show

    saved = options.save_adversarial or ALL_IMAGES
    out = options.out or str(default_out(next(iter(options.model), "")))
    attacked = replace(options, save_adversarial=saved, out=out)
    prints = not options.json  # of two runs, the records are printed together
    status = evaluate_and_show(attacked, make_sources_request, prints=prints)
    if status not in (DONE, ERROR_ROWS):
        return status
    second = Path(out) / TRANSFER
    on_all = replace(options, save_adversarial=0, out=str(second))
    read = partial(make_transfer_request, [Path(out)])
    again = evaluate_and_show(on_all, read, prints=prints)
    if again in (DONE, ERROR_ROWS):
        _show_both([Path(out), second], options.output)
    return max(status, again)


def _show_both(folders: list[Path], output: Output) -> None:
    from reports.tables.formats.as_console import print_table

    from ..results import print_results_json
    from ..run_folders import open_runs, read_runs, results_of
    from ..tables import TableOptions, make_tables
    from ..terminal import Console

    results = results_of(read_runs(open_runs(folders), quiet=output.quiet))
    if output.json:
        print_results_json(results.table)
        return
    for made in make_tables(results, TableOptions(TRANSFER, eps=[])):
        print_table(made, Console(), notes=output.shown_notes)
