"""eval: evaluate checkpoints into a run folder."""

import typer

from ..request.command import add_command
from ..request.options import EvalOptions
from ..run import evaluate_and_show


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "eval", run, help_text="Evaluate checkpoints on images; continues a run.")


def run(options: EvalOptions) -> int:
    """Load, evaluate, write results.csv, print the table.

    Returns:
        Exit status.
    """
    return evaluate_and_show(options)
