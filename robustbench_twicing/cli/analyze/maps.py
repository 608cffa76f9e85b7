"""Options of the maps of attention that an analysis draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UserError
from ...registry import unknown
from .options import ANALYSIS, AnalysisOptions

if TYPE_CHECKING:
    from ...analysis.attention_maps import MapChoice
    from ...data.dataset import Dataset

MAPS = ("pictures", "layers", "rows", "matrix", "heads", "scale")
"""Names of the options."""
STYLES = ("ours", "paper")
SCALES = ("shared", "each")
_opt = partial(typer.Option, rich_help_panel="Maps of attention")


@dataclass(frozen=True)
class MapOptions(AnalysisOptions):
    """What `analyze` is asked for, maps of attention included."""

    pictures: Annotated[
        int, _opt("--pictures", metavar="N", help="Maps of the first N images; 0 for none.")
    ] = 4
    layers: Annotated[
        str | None,
        _opt(
            "--layers",
            metavar="LAYERS",
            help="Like 12, 1-12, 1,6,12 or all; the last unless given, of FAN both class blocks.",
        ),
    ] = None
    rows: Annotated[
        str,
        _opt(
            "--rows",
            help="class: what the class token attends to; received: the mean over all queries.",
        ),
    ] = "class"
    matrix: Annotated[
        str,
        _opt(
            "--matrix",
            help="softmax: A; effective: what multiplies the values, as 2A - A^2 of twicing.",
        ),
    ] = "softmax"
    heads: Annotated[
        str, _opt("--heads", help="mean over heads, or each: in maps and attention.csv.")
    ] = "mean"
    scale: Annotated[
        str, _opt("--scale", help="shared by all maps of a picture, or for each its own.")
    ] = "shared"
    picture_style: Annotated[
        str,
        typer.Option(
            "--picture-style",
            help="ours, or paper: its figures of similarity and of maps by layer, twicing first.",
            rich_help_panel=ANALYSIS,
        ),
    ] = "ours"


def check_map_options(options: MapOptions, analyses: Sequence[str]) -> None:
    """Refuse values that do not exist, and options that would change nothing.

    Args:
        options: as typed.
        analyses: which are done.

    Raises:
        UserError: one of these.
    """
    from ...analysis.attention_maps import HEADS, MATRICES, ROWS

    known = {"rows": ROWS, "matrix": MATRICES, "heads": HEADS, "scale": SCALES}
    for name, values in {**known, "picture_style": STYLES}.items():
        value = getattr(options, name)
        if value not in values:
            option = f"--{name.replace('_', '-')}"
            raise unknown(option, value, values)
    if options.pictures < 0:
        raise UserError(f"--pictures {options.pictures} is not 0 or a positive number")
    chosen = [name for name in MAPS if getattr(options, name) != getattr(MapOptions, name)]
    option = f"--{chosen[-1]}" if chosen else ""
    if chosen and "attention" not in analyses:
        raise UserError(f"{option} is for --analysis attention; add that, or leave {option} out")
    if options.picture_style == "paper" and not {"similarity", "attention"} & {*analyses}:
        raise UserError(
            "--picture-style paper is for --analysis similarity or attention; add one of them, or "
            "leave --picture-style out"
        )
    of_maps = [name for name in chosen if name not in ("pictures", "heads")]
    if of_maps and options.pictures == 0:
        option = f"--{of_maps[-1]}"
        raise UserError(f"{option} is for maps, and --pictures 0 draws none; leave one of them out")


def map_choice(options: MapOptions, analyses: Sequence[str], data: "Dataset") -> "MapChoice | None":
    """Which maps are kept, None where there are none to draw.

    Args:
        options: checked.
        analyses: which are done.
        data: whose first images are drawn.
    """
    from ...analysis.attention_maps import MapChoice

    images = data.ids[: options.pictures]
    if "attention" not in analyses or not images:
        return None
    by_layer = options.layers is None and options.picture_style == "paper"
    layers = "all" if by_layer else options.layers
    return MapChoice(images, layers, options.rows, options.matrix, options.heads)
