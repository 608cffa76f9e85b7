"""corrupt: make ImageNet-C's images from a clean folder."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UserError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("corrupt", help="Write corrupted images in ImageNet-C's folder layout.")(run)


def run(
    data: Annotated[str, typer.Option(help="Clean images, as for eval.")],
    out: Annotated[Path, typer.Option(help="Folder to write; what is there is kept.")],
    corruptions: Annotated[str, typer.Option(help="Names, or main (15), extra (4), all.")] = "main",
    severities: Annotated[str, typer.Option(help="Of 1 to 5.")] = "1,2,3,4,5",
    labels: Annotated[str | None, typer.Option(help="Labels of a flat folder.")] = None,
    classes: Annotated[str | None, typer.Option(help="Own class names, one a line.")] = None,
    limit: Annotated[int | None, typer.Option(help="Seeded subset of N images.")] = None,
    seed: Annotated[int, typer.Option(help="Of every random draw.")] = 0,
    imagenet_c_jpeg: Annotated[
        str, typer.Option(help="85 as the official files, or none: PNG without the second JPEG.")
    ] = "85",
    frost_dir: Annotated[
        str | None, typer.Option(help="Folder of the five frost photographs.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
) -> None:
    """Corrupt every image at 224 pixels after Resize 256 (bilinear) and centre crop."""
    from rich.console import Console
    from rich.progress import track

    from attacks.corruptions import frost_textures
    from attacks.corruptions.folder import Recipe, named_corruptions, write_folder

    from ..data import open_dataset

    if imagenet_c_jpeg not in ("85", "none"):
        raise UserError(f"--imagenet-c-jpeg {imagenet_c_jpeg!r} is unknown; it is 85 or none")
    recipe = Recipe(
        named_corruptions(corruptions),
        parse_severities(severities),
        seed,
        imagenet_c_jpeg == "85",
        frost_dir,
    )
    if "frost" in recipe.corruptions:
        frost_textures(frost_dir)  # said before the work starts, not after half of it
    images = open_dataset(data, labels=labels, classes=classes, limit=limit, seed=seed)
    console = Console(stderr=True)
    counts = write_folder(images, out, recipe, workers=workers)
    written = sum(track(counts, "corrupting", len(images), console=console))
    wanted = len(images) * len(recipe.corruptions) * len(recipe.severities)
    Console().print(
        f"{written} files written, {wanted - written} were there: {out}/<corruption>/<severity>. "
        "They are generated, not the official files. Evaluate one with eval --data "
        f"{out}/{recipe.corruptions[0]}/{recipe.severities[0]} --resize 224 --crop 224.",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )


def parse_severities(text: str) -> tuple[int, ...]:
    """Whole numbers from a comma list, without repeats.

    Raises:
        UserError: something else.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part in set("12345") for part in parts):
        raise UserError(f"--severities {text!r} is not a list of 1 to 5, like 1,3,5")
    return tuple(dict.fromkeys(int(part) for part in parts))
