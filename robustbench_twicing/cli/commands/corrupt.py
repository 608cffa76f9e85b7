"""corrupt: make ImageNet-C's images from a clean folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ...data.dataset import Dataset
    from ..terminal import Console

from ..run_folders import check_out

ALL = "1-5"
"""Severities."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("corrupt", help="Write corrupted images in ImageNet-C's folder layout.")(run)


def run(
    data: Annotated[str, typer.Option(help="Clean images, as for eval.")],
    out: Annotated[Path, typer.Option(help="Folder to write; what is there is kept.")],
    corruptions: Annotated[
        str,
        typer.Option(help="Names of `attacks`, or main (15), extra (4), all (19 of ImageNet-C)."),
    ] = "main",
    severities: Annotated[str, typer.Option(help="Of 1 to 5: 3, 1,3,5 or 1-5.")] = ALL,
    labels: Annotated[str | None, typer.Option(help="Labels of a flat folder.")] = None,
    classes: Annotated[str | None, typer.Option(help="Own class names, one a line.")] = None,
    limit: Annotated[int | None, typer.Option(help="Seeded subset of N images.")] = None,
    limit_seed: Annotated[int, typer.Option(help="Of the choice of --limit's images.")] = 0,
    seed: Annotated[int, typer.Option(help="Of every random draw.")] = 0,
    imagenet_c_size: Annotated[
        int | None,
        typer.Option(help="Pixels a side; any but 224 is not ImageNet-C.", show_default="224"),
    ] = None,
    imagenet_c_jpeg: Annotated[
        str, typer.Option(help="85 as the official files, or none: PNG without the second JPEG.")
    ] = "85",
    frost_dir: Annotated[
        str | None, typer.Option(help="Folder of the five frost photographs.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
) -> None:
    """Corrupt every image at 224 pixels after Resize 256 (bilinear) and centre crop."""
    from rich.progress import track

    from attacks.corruptions.folder import Recipe, write_folder

    from ...data.imagenet_c import SIDE, parse_corruptions, parse_severities
    from ...data.opening import open_dataset
    from ..request.corruptions import check_frost_dir, parse_jpeg
    from ..terminal import Console

    check_out(out)
    check_frost_dir(frost_dir)
    recipe = Recipe(
        parse_corruptions(corruptions),
        parse_severities(severities),
        seed,
        parse_jpeg(imagenet_c_jpeg),
        SIDE if imagenet_c_size is None else imagenet_c_size,
        frost_dir,
    )
    recipe.check_files()  # before the work starts, not after half of it
    images = open_dataset(data, labels=labels, classes=classes, limit=limit, seed=limit_seed)
    console = Console(stderr=True)
    _warn_of_small_images(console, images, recipe.side)
    counts = write_folder(images, out, recipe, workers=workers)
    hidden = not console.is_terminal
    written = sum(track(counts, "corrupting", len(images), console=console, disable=hidden))
    asked = shlex.join(
        ["--data", data, "--corruptions", corruptions, "--imagenet-c", str(out)]
        + ([] if severities == ALL else ["--severities", severities])
        + ([] if labels is None else ["--labels", labels])
        + ([] if classes is None else ["--classes", classes])
        + ([] if limit is None else ["--limit", str(limit)])
        + ([] if limit_seed == 0 else ["--limit-seed", str(limit_seed)])
        + ([] if seed == 0 else ["--seed", str(seed)])
    )
    files = len(images) * len(recipe.sources())
    Console().print(
        f"{written} files written, {files - written} were there: {out}/<corruption>/<severity>. "
        f"They are generated, not the official files. Evaluate them with: eval {asked}",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )


def _warn_of_small_images(console: Console, images: Dataset, side: int) -> None:
    """Name the images that are enlarged before they are corrupted."""
    from ...data.summary import smaller_than
    from ...files.printable import count, name_some

    small = smaller_than(images, side)
    if small:
        console.print(
            f"warning: {count(len(small), 'image')} smaller than {side} pixels will be enlarged "
            f"before corruption, unlike ImageNet-C's: {name_some(small)}",
            soft_wrap=True,
            highlight=False,
            markup=False,
        )
