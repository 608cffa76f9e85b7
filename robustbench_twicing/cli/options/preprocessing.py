"""Options of preprocessing: from a file to a network's input."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

_opt = partial(typer.Option, rich_help_panel="Preprocessing")


@dataclass(frozen=True)
class PreprocessingOptions:
    """How photographs become a network's input."""

    resize: Annotated[int | None, _opt("--resize", help="Shorter side after resizing, pixels.")] = (
        None
    )
    squash: Annotated[
        bool | None, _opt("--squash/--no-squash", help="Resize to a square, or keep proportions.")
    ] = None
    crop: Annotated[int | None, _opt("--crop", help="Side of the centre crop, pixels.")] = None
    interpolation: Annotated[
        str | None, _opt("--interpolation", help="nearest, bilinear, bicubic or lanczos.")
    ] = None
    mean: Annotated[str | None, _opt("--mean", help="R,G,B mean of pixels in [0, 1].")] = None
    std: Annotated[str | None, _opt("--std", help="R,G,B standard deviation.")] = None
    normalize: Annotated[
        str | None,
        _opt(
            "--normalize",
            metavar="MEAN/STD",
            help="For own code that expects normalised input: imagenet or r,g,b/r,g,b.",
        ),
    ] = None
    max_pixels: Annotated[
        int | None, _opt("--max-pixels", help="Decode images of up to N pixels.")
    ] = None
    on_bad_image: Annotated[
        str, _opt("--on-bad-image", help="stop at an unreadable image, or skip it.")
    ] = "stop"
