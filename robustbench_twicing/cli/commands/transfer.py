"""transfer: adversarial images that were saved of some networks, scored on others."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..options.command import add_command
from ..options.evaluation import OF_MODELS, OF_PIXELS
from ..options.printed import OutputOptions

OPTIONS = (
    *OF_MODELS,
    *("attention", "kernels", "compile", "memory_format"),
    *(*OF_PIXELS, "normalize"),
    *("batch_size", "part_size", "device", "threads", "max_hours", "shard", "out"),
    *("notes", "json", "quiet"),
)
"""Of `OutputOptions`; images, attacks and seed are those of the runs."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    runs = Annotated[
        list[Path],
        typer.Argument(help="Run folders, as written by eval with --save-adversarial N."),
    ]
    add_command(
        app,
        "transfer",
        run,
        help_text="Score saved adversarial images of some models on others; continues a run.",
        options=OutputOptions,
        only=OPTIONS,
        arguments={"run_dirs": runs},
    )


def run(options: OutputOptions, run_dirs: list[Path]) -> int:
    """Score the images on every --model, as an ordinary run.

    Returns:
        Exit status, as that of eval.
    """
    from ..request.transfer import make_transfer_request
    from ..results import evaluate_and_show

    return evaluate_and_show(options, partial(make_transfer_request, run_dirs))
