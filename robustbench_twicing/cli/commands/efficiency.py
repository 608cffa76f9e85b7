"""efficiency: time, multiply-adds, parameters and memory of forward passes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UserError

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

    from ...classifiers.efficiency import Efficiency


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("efficiency", help="Time, GMACs, parameters and memory of a forward pass.")(run)


def run(
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            metavar="NAME[=CHECKPOINT]",
            help="As for eval; repeat for several. Without a checkpoint: random weights.",
        ),
    ],
    label: Annotated[
        list[str] | None, typer.Option(help="Name in the table; one per --model.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Images a forward pass.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each model.")] = 30,
    attention: Annotated[
        str, typer.Option(help="Attention kernels: auto, explicit, fused.")
    ] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads of the network.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[Path | None, typer.Option(help="CSV file to write.")] = None,
) -> None:
    """Measure all models in alternation in one process, print the table, write the file."""
    from ...classifiers.device import choose_device
    from ...classifiers.efficiency import measure_efficiency
    from ..request.models import load_models, set_threads
    from ..request.options import EvalOptions
    from ..run_folders import check_out
    from ..terminal import Console

    if out is not None and out.is_dir():
        raise UserError(f"--out {out} is a folder; name a file, like {out / 'efficiency.csv'}")
    check_out(None if out is None else out.parent)
    where = choose_device(device)
    set_threads(threads)
    named = [_with_weights(asked) for asked in model]
    options = EvalOptions(model=named, label=label or [], attention=attention, kernels="plain")
    measured = measure_efficiency(
        load_models(options).models, batch_size=batch_size, rounds=rounds, device=where
    )
    console = Console()
    _print(measured, console)
    console.print(_basis(measured[0], rounds), soft_wrap=True, highlight=False, markup=False)
    if out is not None:
        _write(measured, out)
        console.print(f"efficiency: {out}", soft_wrap=True, highlight=False, markup=False)


def _with_weights(asked: str) -> str:
    """What a forward pass costs does not depend on the weights, so random ones will do."""
    from ...checkpoints.hub import HF_PREFIX
    from ...classifiers.user_code import is_user_code

    has_weights = "=" in asked or is_user_code(asked) or asked.startswith(HF_PREFIX)
    return asked if has_weights else f"{asked}=random:0"


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
