"""corrupt: make ImageNet-C's images from a clean folder."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UserError
from ..options.command import add_command
from ..options.corrupted import CORRUPTED
from ..options.evaluation import OF_IMAGES, EvalOptions
from ..options.run import RUN
from ..run_folders import check_out

if TYPE_CHECKING:
    from ...data.dataset import Dataset
    from ..terminal import Console

ALL = "1-5"
"""Severities."""


@dataclass(frozen=True)
class CorruptOptions(EvalOptions):
    """Those that say what images are and how they are corrupted; all of them have a value."""

    corruptions: Annotated[
        str | None,
        typer.Option(
            help="Names that `attacks` lists, or main (15), extra (4), all (19 of ImageNet-C).",
            rich_help_panel=CORRUPTED,
        ),
    ] = "main"
    severities: Annotated[
        str | None, typer.Option(help="Of 1 to 5: 3, 1,3,5 or 1-5.", rich_help_panel=CORRUPTED)
    ] = ALL
    imagenet_c_jpeg: Annotated[
        str | None,
        typer.Option(
            help="85 as the official files, or none: PNG without the second JPEG.",
            rich_help_panel=CORRUPTED,
        ),
    ] = "85"
    out: Annotated[
        str | None,
        typer.Option(help="Folder to write; what is there is kept.", rich_help_panel=RUN),
    ] = None


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(
        app,
        "corrupt",
        run,
        help_text="Write corrupted images in ImageNet-C's folder layout.",
        options=CorruptOptions,
        only=(
            *("data", *OF_IMAGES, "corruptions", "severities", "imagenet_c_jpeg"),
            *("imagenet_c_size", "frost_dir", "workers", "seed", "out"),
        ),
        needed=("data", "out"),
    )


def run(options: CorruptOptions) -> None:
    """Corrupt every image at 224 pixels after Resize 256 (bilinear) and centre crop."""
    from rich.progress import track

    from attacks.corruptions.folder import Recipe, write_folder

    from ...data.folders.class_folders import UNLABELLED
    from ...data.imagenet_c import SIDE, parse_corruptions, parse_severities
    from ...files.printable import count
    from ..request.corruptions import check_frost_dir, parse_jpeg
    from ..request.data_sets import one_data, open_images
    from ..terminal import Console

    spec, out = one_data(options, "corrupt"), Path(options.out or "")
    check_out(out)
    check_frost_dir(options.frost_dir)
    if options.workers < 1:
        raise UserError(f"--workers {options.workers} is not a positive number")
    recipe = Recipe(
        parse_corruptions(options.corruptions or ""),
        parse_severities(options.severities or ""),
        options.seed,
        parse_jpeg(options.imagenet_c_jpeg),
        SIDE if options.imagenet_c_size is None else options.imagenet_c_size,
        options.frost_dir,
    )
    recipe.check_files()  # before the work starts, not after half of it
    images = open_images(options, spec, needs_labels=False)
    console = Console(stderr=True)
    _warn_of_small_images(console, images, recipe.side)
    counts = write_folder(images, out, recipe, workers=options.workers)
    hidden = not console.is_terminal
    written = sum(track(counts, "corrupting", len(images), console=console, disable=hidden))
    files = len(images) * len(recipe.sources())
    summary = (
        f"{count(written, 'file')} written, {files - written:,} were there: "
        f"{out}/<corruption>/<severity>. They are generated, not the official files."
    )
    if images.labelling == UNLABELLED:
        Console().say(
            f"{summary} Nothing says their classes, in whose folders an evaluation looks for them: "
            "for one, make them again with --labels or --classes."
        )
    else:
        Console().say(f"{summary} Evaluate them with: eval {shlex.join(_asked(options, spec))}")


def _asked(options: CorruptOptions, spec: str) -> Iterator[str]:
    """The options by which an evaluation finds the images that were written."""
    usual = CorruptOptions()
    given: dict[str, Any] = {
        "data": spec,
        "corruptions": options.corruptions,
        "imagenet_c": options.out,
        **{name: getattr(options, name) for name in ("severities", *OF_IMAGES, "seed")},
    }
    for name, value in given.items():
        if name not in ("data", "corruptions", "imagenet_c") and value == getattr(usual, name):
            continue
        yield f"--{name.replace('_', '-')}"
        if value is not True:
            yield str(value)


def _warn_of_small_images(console: "Console", images: "Dataset", side: int) -> None:
    """Name the images that are enlarged before they are corrupted."""
    from ...data.summary import smaller_than
    from ...files.printable import count, name_some

    small = smaller_than(images, side)
    if small:
        console.warn(
            [
                f"{count(len(small), 'image')} smaller than {side} pixels will be enlarged before "
                f"corruption, unlike ImageNet-C's: {name_some(small)}"
            ]
        )
