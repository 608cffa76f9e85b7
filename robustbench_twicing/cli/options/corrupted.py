"""Options of corruptions."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

CORRUPTED = "How it is corrupted (ImageNet-C)"
_opt = partial(typer.Option, rich_help_panel=CORRUPTED)


@dataclass(frozen=True)
class CorruptedOptions:
    """Which corruptions, and where their images come from."""

    corruptions: Annotated[
        str | None,
        _opt(
            "--corruptions",
            help="Names, or main (15), extra (4), all (19 of ImageNet-C).",
        ),
    ] = None
    severities: Annotated[str | None, _opt("--severities", help="Of 1 to 5: 3, 1,3,5 or 1-5.")] = (
        None
    )
    imagenet_c: Annotated[
        str | None, _opt("--imagenet-c", metavar="DIR", help="Corrupted images: folders, .tar.")
    ] = None
    imagenet_c_jpeg: Annotated[
        str | None, _opt("--imagenet-c-jpeg", metavar="85|none", help="Second JPEG, or none.")
    ] = None
    imagenet_c_size: Annotated[
        int | None, _opt("--imagenet-c-size", help="Corrupt at N pixels, not 224; flagged.")
    ] = None
    frost_dir: Annotated[
        str | None, _opt("--frost-dir", help="Folder of the five frost photographs.")
    ] = None
