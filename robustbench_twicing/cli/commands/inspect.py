"""``inspect``: what a checkpoint is, before anything is claimed about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UserError
from ..options.command import add_command, options_given
from ..options.evaluation import OF_IMAGES, OF_PIXELS, EvalOptions

if TYPE_CHECKING:
    from ...checkpoints.architecture import Anatomy
    from ...checkpoints.inspection import Inspection, WeightsFacts
    from ..terminal import Console

FEW_GROUPS = 20
"""Groups of keys that are printed where the layout is unknown."""

BATCH = 32
"""Images that the probe shows at a time under --batch-size auto."""
CAUTION = "Models within a few images of the best are not told apart by so few images."


@dataclass(frozen=True)
class InspectOptions(EvalOptions):
    """Those of the probe, which evaluates a few clean images."""

    limit: Annotated[int | None, typer.Option(help="Images of the probe.")] = 64


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    argument = typer.Argument(help="File, index of shards, folder, or hf:NAME.")
    add_command(
        app,
        "inspect",
        run,
        help_text="What a checkpoint holds, which models it fits, and (with --data) how well.",
        options=InspectOptions,
        only=("data", *OF_IMAGES, "adapter", *OF_PIXELS, "batch_size", "device"),
        arguments={"checkpoint": Annotated[str, argument]},
    )


def run(options: InspectOptions, checkpoint: str) -> None:
    """Show the file, its weights, its architecture, the models that fit, and the probe."""
    from ...checkpoints.hub import HF_PREFIX, find_folder
    from ...checkpoints.inspection import inspect_checkpoint
    from ..terminal import Console

    console = Console()
    if checkpoint.startswith(HF_PREFIX):
        checkpoint = str(find_folder(checkpoint.removeprefix(HF_PREFIX)))
    inspection = inspect_checkpoint(checkpoint)
    _file(console, inspection)
    for kind, weights in inspection.weights.items():
        _weights(console, kind, weights)
    if inspection.remarks:
        _grid(console, "Beside them", {"notes": "\n".join(inspection.remarks)})
    _architecture(console, inspection)
    _candidates(console, inspection)
    if options.data:
        _probe(console, inspection, checkpoint, options)
    elif unused := options_given(options, but=("device", "batch_size")):
        raise UserError(f"{unused[0]} is of the probe; give it images by --data, or leave it out")


def _file(console: "Console", inspection: "Inspection") -> None:
    file = inspection.file
    rows = {
        "file": str(file.path),
        "bytes": f"{file.path.stat().st_size:,}",
        "container": file.container,
        "SHA-256": file.sha256,
        "top keys": ", ".join(inspection.top) or "a bare state dict",
    }
    for key, value in inspection.facts.items():
        if isinstance(value, dict):
            rows[key] = ", ".join(f"{name}={part}" for name, part in value.items())
        else:
            rows[key] = str(value)
    _grid(console, "Checkpoint", rows)


def _weights(console: "Console", kind: str, weights: "WeightsFacts") -> None:
    rows = {
        "found under": weights.key or "the file itself",
        "tensors": str(weights.keys),
        "parameters": f"{weights.parameters:,}",
        "precision": ", ".join(f"{count} x {name}" for name, count in weights.dtypes.items()),
        "not finite": ", ".join(weights.not_finite[:5]) or "none",
        "SHA-256": weights.sha256,
    }
    if weights.notes:
        rows["notes"] = " ".join(weights.notes)
    _grid(console, f"Weights: {kind}", rows)


def _architecture(console: "Console", inspection: "Inspection") -> None:
    from ...checkpoints.architecture import WORDS
    from ...files.printable import name_some

    seen = inspection.seen
    rows: dict[str, str] = {}
    if seen is None:
        groups = next(iter(inspection.weights.values())).groups
        rows["layout"] = "unknown here"
        rows["keys"] = name_some(groups, FEW_GROUPS)
    else:
        rows["layout"] = seen.title
        rows |= {WORDS.get(name, name): _size(seen, name) for name in seen.sizes}
    rows["named by the file"] = (
        ", ".join(f"{name} ({where})" for where, name in inspection.declared.items()) or "no name"
    )
    if inspection.ema_difference is not None:
        rows["EMA against plain"] = (
            f"differs by up to {inspection.ema_difference:.3g}"
            if inspection.ema_difference
            else "identical values"
        )
    _grid(console, "Architecture", rows)


def _size(seen: "Anatomy", name: str) -> str:
    size, patch = seen.sizes[name], seen.sizes.get("patch_size")
    if size is None:
        return "not visible in the keys"
    if name == "grid":
        return f"{size} x {size} patches" + (f", input {size * patch} pixels" if patch else "")
    return str(size)


def _candidates(console: "Console", inspection: "Inspection") -> None:
    from rich.table import Table
    from rich.text import Text

    from ...checkpoints.candidates import same_keys

    if not inspection.candidates:
        console.print(
            "No model of the table fits; one of timm's may (timm:NAME), and a Hugging Face "
            "folder evaluates as hf:FOLDER.\n"
        )
        return
    table = Table(title="Models that fit", title_justify="left")
    table.add_column("name", overflow="fold")
    table.add_column("speaks for it", overflow="fold")
    table.add_column("would need", overflow="fold")
    for candidate in inspection.candidates:
        table.add_row(
            Text(candidate.name),
            "; ".join(candidate.reasons),
            "; ".join(candidate.against) or "nothing",
        )
    console.print(table)
    if sentence := same_keys(inspection.candidates):
        console.print(sentence + "\n")


def _probe(
    console: "Console", inspection: "Inspection", checkpoint: str, options: InspectOptions
) -> None:
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

    from ...evaluation.clean_accuracy import probe, variants
    from ...evaluation.options import parse_batch_size
    from ..request.data_sets import one_data, open_images
    from ..request.models import one_adapter, pixels_asked
    from ..terminal import Console as ErrorConsole

    images = open_images(options, one_data(options, "inspect"))
    runs = [(name, kind) for name in variants(inspection.candidates) for kind in inspection.weights]
    table = Table(title=f"Probe: clean accuracy on {images.name}", title_justify="left")
    table.add_column("name", overflow="fold")
    table.add_column("weights")
    table.add_column("right", justify="right")
    table.add_column("top-1", justify="right")
    bar = ErrorConsole(stderr=True)
    with Progress(console=bar, transient=True, disable=not bar.is_terminal) as progress:
        task = progress.add_task("probing", total=len(runs) * len(images))
        for name, kind in runs:
            row = probe(
                checkpoint,
                name,
                kind,
                images,
                num_classes=inspection.seen.sizes.get("num_classes") if inspection.seen else None,
                batch_size=parse_batch_size(options.batch_size) or BATCH,
                device=options.device,
                adapter=one_adapter(options),
                advance=lambda count: progress.advance(task, count),
                **pixels_asked(options),
            )
            share = f"{100 * row.correct / row.images:.1f} %" if row.images else "no images"
            table.add_row(Text(row.model), row.weights, f"{row.correct}/{row.images}", share)
    console.print(table)
    _sentences(console, [CAUTION, *images.notes])


def _sentences(console: "Console", sentences: Iterable[str]) -> None:
    for sentence in sentences:
        console.print(sentence, markup=False)


def _grid(console: "Console", title: str, rows: dict[str, str]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(Text(name), Text(value))
    console.print(Text(title, style="bold"))
    console.print(table)
    console.print()
