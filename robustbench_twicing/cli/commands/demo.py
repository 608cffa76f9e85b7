"""demo: the main job on the bundled models and images, and every kind of output."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UserError
from ..options.evaluation import EvalOptions

if TYPE_CHECKING:
    from ...evaluation.runner import Run
    from ..terminal import Console

DATA = "fashion-mnist:test1000"
CHECKPOINT = "bundled"
IMAGES, QUICK_IMAGES = 100, 10
SIDE = 32
"""Pixels a side at which these 28-pixel images are corrupted: not ImageNet-C, and flagged."""
EXAMPLES = 2
"""Images whose adversarial versions are kept, for the page."""
RUN, REPORT = "run", "report"
ANALYSIS = "analysis"
"""In the run folder, where the page looks for it."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", help="A whole evaluation of the bundled models, offline.")(run)


def run(
    context: typer.Context,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{QUICK_IMAGES} images instead of {IMAGES}.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of run and report, made anew.")] = Path(
        "runs/demo"
    ),
) -> int:
    """Evaluate and analyse every bundled model, and make every kind of report of it.

    Returns:
        Exit status.
    """
    from ...checkpoints.bundled import ZOO
    from ...evaluation.distributed import Team
    from ..run import evaluate
    from ..terminal import Console

    _remove_earlier_demo(out)
    console = Console(highlight=False, soft_wrap=True)
    images = QUICK_IMAGES if quick else IMAGES
    console.print(
        f"{len(ZOO)} small models trained on Fashion-MNIST, {images} of its test images, suite "
        "demo. They show the way, on 28 x 28 pixels; docs/zoo.md says what they are."
    )
    models = [f"{name}={CHECKPOINT}" for name in ZOO]
    options = EvalOptions(
        model=models,
        data=[DATA],
        suite="demo",
        limit=images,
        batch_size="50",
        threads=1,  # networks this small gain nothing from more, and lose much on a busy machine
        save_adversarial=EXAMPLES,
        imagenet_c_size=SIDE,
        out=str(out / RUN),
    )
    done = evaluate(options, Team(), again="the same command starts it anew")
    console.print("\nWhat these models make of the tokens of the same images:")
    _analyze(context, models, images, out / RUN / ANALYSIS)
    return _report(done.run, out / REPORT, console)


def _analyze(context: typer.Context, models: Sequence[str], images: int, out: Path) -> None:
    """The command `analyze`, as a reader would type it."""
    group: Any = context.find_root().command
    arguments = [text for model in models for text in ("--model", model)]
    arguments += ["--data", DATA, "--limit", str(images), "--batch-size", "50", "--threads", "1"]
    arguments += ["--pictures", str(EXAMPLES)]
    group.commands["analyze"].main([*arguments, "--out", str(out)], standalone_mode=False)


def _report(done: "Run", out: Path, console: "Console") -> int:
    """Tables, pictures, the comparison with the first model, and the page; only table 1 shown.

    Returns:
        The exit status that the rows ask for.
    """
    from reports import merge, with_worst
    from reports.statistics.comparison import compare
    from reports.tables.formats import FORMATS, write_tables
    from reports.tables.formats.as_console import print_table
    from reports.tables.presets import preset_tables

    from ..report_files import HTML, Files, write_files
    from ..results import exit_status, save_tables, write_comparison
    from ..run_folders import results_of

    results = results_of(with_worst(merge([done.folder])))
    runs, table, _ = results
    save_tables(results, done.folder.path)
    tables = [sheet for name in ("table1", "worst") for sheet in preset_tables(name, runs, table)]
    for shown in tables:
        print_table(shown, console)
    write_tables(tables, out, list(FORMATS))
    write_comparison(compare(runs, table), out)
    write_files(results, Files(HTML, plots=True, baseline=None, out=out))
    console.print(
        f"\nA page to look at: {out / 'index.html'}\n"
        f"Tables, pictures and comparison: {out}\n"
        f"Every number: {done.folder.path / 'results.csv'}\n"
        "The same with your own checkpoint and images:\n"
        f"  {_program()} eval --model deit_tiny_patch16_224=CHECKPOINT.pth --data FOLDER",
        markup=False,
    )
    return exit_status(table)


def _program() -> str:
    """How this program was called: by the Python that has what it needs, or by name."""
    script = Path(sys.argv[0])
    if script.suffix != ".py":
        return script.name
    return f"{os.path.relpath(sys.executable)} {script}"


def _remove_earlier_demo(out: Path) -> None:
    """Never anything but an earlier demo."""
    from ...records.run_folder import RunFolder

    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"--out {out} is a file; name a folder")
    strange = {path.name for path in out.iterdir()} - {RUN, REPORT}
    if not strange and (out / RUN).exists():
        for model in RunFolder.open(out / RUN).manifest.evaluations:
            if (model.record.checkpoint, model.dataset.name) != (CHECKPOINT, DATA):
                strange.add(model.label)
    if strange:
        raise UserError(f"{out} is not what an earlier demo left behind; use another --out")
    shutil.rmtree(out)
