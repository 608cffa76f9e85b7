"""demo: the main job on the bundled models and images, and every kind of output."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UserError
from .options import EvalOptions
from .status import INCOMPLETE

DATA = "fashion-mnist:test1000"
CHECKPOINT = "bundled"
IMAGES, QUICK_IMAGES = 100, 10
RUN, REPORT = "run", "report"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", help="A whole evaluation of the bundled models, offline.")(run)


def run(
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{QUICK_IMAGES} images instead of {IMAGES}.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of run and report, made anew.")] = Path(
        "runs/demo"
    ),
) -> int:
    """Evaluate every bundled model under suite `demo`, and make every kind of report of it.

    Returns:
        Exit status.
    """
    from rich.console import Console

    from ..zoo import ZOO
    from .eval import run as evaluate

    console = Console(highlight=False, soft_wrap=True)
    images = QUICK_IMAGES if quick else IMAGES
    console.print(
        f"{len(ZOO)} small models trained on Fashion-MNIST, {images} of its test images, suite "
        "demo. They show the way, on 28 x 28 pixels; docs/zoo.md says what they are."
    )
    _remove_earlier_demo(out)
    options = EvalOptions(
        model=[f"{name}={CHECKPOINT}" for name in ZOO],
        data=[DATA],
        suite="demo",
        limit=images,
        batch_size=50,
        out=str(out / RUN),
    )
    status = evaluate(options)
    if status == INCOMPLETE:
        return status
    _report(out / RUN, out / REPORT)
    console.print(
        f"\nTables, pictures, comparison and a page to look at: {out / REPORT}\n"
        "The same with your own checkpoint and images:\n"
        "  python run_eval.py eval --model deit_tiny_patch16_224=CHECKPOINT.pth --data FOLDER",
        markup=False,
    )
    return status


def _report(run_dir: Path, out: Path) -> None:
    """Table 1 in every format, pictures, the page, and the comparison with the first model."""
    from .compare import run as compare
    from .report import run as report

    report([run_dir], preset="table1", plots=True, out=out)
    report([run_dir], output_format="html", out=out)
    compare([run_dir], out=out)


def _remove_earlier_demo(out: Path) -> None:
    """Never anything but an earlier demo."""
    from ..records import RunFolder

    if not out.exists():
        return
    strange = {path.name for path in out.iterdir()} - {RUN, REPORT}
    if not strange and (out / RUN).exists():
        for each in RunFolder.open(out / RUN).manifest.evaluations:
            if (each.record["checkpoint"], each.dataset["name"]) != (CHECKPOINT, DATA):
                strange.add(each.label)
    if strange:
        raise UserError(f"{out} is not what an earlier demo left behind; use another --out")
    shutil.rmtree(out)
