"""demo: the main job on what comes with the installed packages, without any download."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UserError
from .options import EvalOptions

MODEL = "timm:test_vit"
CHECKPOINT = "random:0"
DATA = "samples:imagenet"
DEMO_FILES = {"run.json", "sessions", "parts", "results.csv"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", help="A whole evaluation, offline, in under a minute.")(run)


def run(
    out: Annotated[Path, typer.Option(help="Run folder, made anew.")] = Path("runs/demo"),
) -> int:
    """Evaluate a small untrained timm model on the 20 photographs that foolbox ships.

    Returns:
        Exit status.
    """
    from rich.console import Console

    from .eval import run as evaluate

    console = Console()
    console.print(
        f"{MODEL} with random weights on foolbox's 20 ImageNet photographs: it shows the whole "
        "way from images to results.csv; its accuracies say nothing about any model."
    )
    if out.exists():
        _remove_earlier_demo(out)
    status = evaluate(EvalOptions(model=[MODEL], checkpoint=CHECKPOINT, data=[DATA], out=str(out)))
    console.print(
        "The same with your own checkpoint and images:\n"
        "  python run_eval.py eval --model deit_tiny_patch16_224=CHECKPOINT.pth --data FOLDER",
        soft_wrap=True,
        highlight=False,
    )
    return status


def _remove_earlier_demo(out: Path) -> None:
    """Never anything but an earlier demo."""
    from ..records import RunFolder

    made_of = [
        (each.record["model"], each.record["checkpoint"], each.dataset["name"])
        for each in RunFolder.open(out).manifest.evaluations
    ]
    strange = {path.name for path in out.iterdir()} - DEMO_FILES
    if made_of != [(MODEL, CHECKPOINT, DATA)] or strange:
        raise UserError(f"{out} is not what an earlier demo left behind; use another --out")
    shutil.rmtree(out)
