"""efficiency: time, multiply-adds, parameters and memory of forward passes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UserError
from ..options.command import add_command
from ..options.evaluation import OF_MODELS, EvalOptions
from ..options.run import RUN

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

    from ...classifiers.efficiency import Efficiency


@dataclass(frozen=True)
class EfficiencyOptions(EvalOptions):
    """Those of networks and of how they are computed; images are grey, and need none."""

    batch_size: Annotated[
        str, typer.Option("--batch-size", help="Images a forward pass.", rich_help_panel=RUN)
    ] = "1"
    rounds: Annotated[
        int, typer.Option(min=1, help="Measurements of each model.", rich_help_panel=RUN)
    ] = 30
    out: Annotated[str | None, typer.Option(help="CSV file to write.", rich_help_panel=RUN)] = None


def register(app: typer.Typer) -> None:
    """Add the command."""
    of_models = [name for name in OF_MODELS if name != "adapter"]  # merged, it costs nothing
    add_command(
        app,
        "efficiency",
        run,
        help_text="Time, GMACs, parameters and memory of a forward pass.",
        options=EfficiencyOptions,
        only=(
            *(*of_models, "crop", "attention", "memory_format", "threads", "device"),
            *("batch_size", "rounds", "out"),
        ),
        needed=("model",),
    )


def run(options: EfficiencyOptions) -> None:
    """Measure all models in alternation in one process, print the table, write the file."""
    from ...classifiers.device import choose_device
    from ...classifiers.efficiency import measure_efficiency
    from ...evaluation.options import parse_batch_size
    from ..request.models import load_models
    from ..request.request import prepare_cpu
    from ..run_folders import check_out
    from ..terminal import Console

    out = None if options.out is None else Path(options.out)
    if out is not None and out.is_dir():
        raise UserError(f"--out {out} is a folder; name a file, like {out / 'efficiency.csv'}")
    check_out(None if out is None else out.parent)
    batch_size = parse_batch_size(options.batch_size)
    if batch_size is None:
        raise UserError("--batch-size auto: efficiency measures at one batch size; give a number")
    where = choose_device(options.device)
    prepare_cpu(options.threads)
    named = [_with_weights(asked, options.checkpoint) for asked in options.model]
    measured = measure_efficiency(
        load_models(replace(options, model=named)).models,
        batch_size=batch_size,
        rounds=options.rounds,
        device=where,
    )
    console = Console()
    _print(measured, console)
    console.say(_basis(measured[0], options.rounds))
    if out is not None:
        _write(measured, out)
        console.say(f"efficiency: {out}")


def _with_weights(asked: str, checkpoint: str | None) -> str:
    """What a forward pass costs does not depend on the weights, so random ones will do."""
    from ...checkpoints.hub import HF_PREFIX
    from ...classifiers.user_code import is_user_code

    has_weights = "=" in asked or is_user_code(asked) or asked.startswith(HF_PREFIX)
    return asked if has_weights or checkpoint is not None else f"{asked}=random:0"


def _print(measured: "Sequence[Efficiency]", console: "RichConsole") -> None:
    from reports.tables.formats.as_console import print_columns
    from reports.tables.formats.layout import TextColumn

    texts = {
        "ms/image": [f"{model.ms_per_image_median:.3g}" for model in measured],
        "p25-p75": [f"{model.ms_p25:.3g}-{model.ms_p75:.3g}" for model in measured],
        "ratio": [f"{model.ratio:.3f}" for model in measured],
        "GMACs": [f"{model.gmacs:.4g}" for model in measured],
        "params (M)": [f"{model.params_million:.4g}" for model in measured],
        "peak MiB": [f"{model.peak_mib:.4g}" for model in measured],
    }
    names = TextColumn("model", [model.label for model in measured], is_name=True)
    print_columns([names], [TextColumn(head, column) for head, column in texts.items()], console)


def _basis(first: "Efficiency", rounds: int) -> str:
    from ...files.printable import count

    return (
        f"{rounds} forward passes of each model in alternation, after rounds that do not count; "
        f"batch size {first.batch_size}, {count(first.threads, 'CPU thread')}, {first.device}. "
        "ms/image: median and quartiles; ratio: to the first model, median over rounds; GMACs: "
        "multiply-adds of one image, in 10^9; peak: weights, input and what a forward pass "
        "allocates. Kernels: plain."
    )


def _write(measured: "Sequence[Efficiency]", out: Path) -> None:
    import pandas as pd

    from reports.text.csv_text import save_csv

    save_csv(pd.DataFrame([model.row() for model in measured]), out)
