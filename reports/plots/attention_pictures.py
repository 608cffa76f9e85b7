"""Pictures of attention: maps beside the images that networks saw, a row for each model."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from ..representations.subject import Subject
from ..text.file_names import file_name
from .attention_map import Crop, Map, Scale, attention_map, attention_overlay
from .lettering import lettering, styled
from .picture import Picture

MOST_OVERLAYS = 3
"""Layers of one picture with an overlay each; where there are more, the last one alone has it."""
QUERIES = {
    "class": "class token",
    "dist": "distillation token",
    "received": "received, mean over queries",
}
"""Rows of a matrix, in words."""
CELL = 1.45
"""Side of a map, inches."""


class _Cell(NamedTuple):
    """One map: its layer, the symbols of its matrix, and its weights."""

    layer: str
    matrix: str
    weights: Map


class _Row(NamedTuple):
    """Maps beside each other: of one model, query and head.

    Attributes:
        name: of all that, and the model's flags.
        query: of `QUERIES`.
        head: its number, or ``mean``.
        crop: the image.
        cells: by layer.
    """

    name: str
    query: str
    head: str
    crop: Crop
    cells: Sequence[_Cell]


class _Layout(NamedTuple):
    """What the maps of one picture have in common.

    Attributes:
        overlays: whether each map has one to its right.
        shared: the scale of all; None where each has its own.
        signed: whether there are negative weights.
        names_matrices: whether each map says of which matrix it is.
        in_paper: as the paper draws them, without what the scales are.
    """

    overlays: bool
    shared: Scale | None
    signed: bool
    names_matrices: bool
    in_paper: bool = False

    @property
    def step(self) -> int:
        """Columns of one layer."""
        return 2 if self.overlays else 1


def attention_pictures(subjects: Sequence[Subject], *, scale: str) -> Iterator[Picture]:
    """Of each image a picture with a row for each model: the crop, and maps with overlays.

    Where several numbered layers are there, another one has their maps alone, a column a layer.

    Args:
        subjects: models with maps of the same images.
        scale: ``shared`` by all maps of a picture, or ``each`` its own.
    """
    for image in dict.fromkeys(image for subject in subjects for image in subject.crops):
        rows = [row for subject in subjects for row in _rows(subject, image)]
        last = -1 if max(len(row.cells) for row in rows) > MOST_OVERLAYS else 0
        shown = [row._replace(cells=row.cells[last:]) for row in rows]
        name = PurePosixPath(image).with_suffix("").as_posix()
        yield _picture(file_name("attention", name), image, shown, scale=scale, overlays=True)
        if any(row.cells[1:] and row.cells[0].layer.isdecimal() for row in rows):
            yield _picture(file_name("layers", name), image, rows, scale=scale)


def paper_layers(subjects: Sequence[Subject]) -> Iterator[Picture]:
    """One picture of all images by layer in the form of arXiv 2503.00687.

    Under each other twicing and baseline of the first image, then of the next one; every map goes
    from its least to its largest weight.

    Args:
        subjects: models with maps of the same images.
    """
    ordered = sorted(subjects, key=lambda subject: not subject.averages_twice)
    images = list(dict.fromkeys(image for subject in subjects for image in subject.crops))
    rows = [row for image in images for subject in ordered for row in _rows(subject, image)]
    if rows:
        yield _picture("layers", ", ".join(images), rows, scale="paper")


def _rows(subject: Subject, image: str) -> Iterator[_Row]:
    flags = ", ".join(flag for flag in subject.flags if not flag.startswith("limit-"))
    maps = subject.tables["maps"]
    of_image = maps[maps["image"] == image]
    for (query, head), rows in of_image.groupby(["row", "head"], sort=False):
        lines = [lettering(subject.label, 22)]
        if subject.under:
            lines.append(lettering(f"under {subject.under}", 26))
        if flags:
            lines.append(lettering(f"({flags})", 26))
        if query != "class" or of_image["row"].nunique() > 1:
            lines.append(QUERIES[str(query)])
        if head != "mean":
            lines.append(f"head {head}")
        cells = [_Cell(*cell) for cell in rows[["layer", "matrix", "map"]].to_numpy()]
        yield _Row("\n".join(lines), str(query), str(head), subject.crops[image], cells)


def _picture(
    name: str, images: str, rows: Sequence[_Row], *, scale: str, overlays: bool = False
) -> Picture:
    cells = [cell for row in rows for cell in row.cells]
    matrices = list(dict.fromkeys(cell.matrix for cell in cells))
    signed = any((cell.weights < 0).any() for cell in cells)
    shared = Scale.of([cell.weights for cell in cells], signed=signed, whole=False)
    layout = _Layout(
        overlays=overlays,
        shared=shared if scale == "shared" else None,
        signed=signed,
        names_matrices=len(matrices) > 1,
        in_paper=scale == "paper",
    )
    queries = ", ".join(dict.fromkeys(QUERIES[row.query] for row in rows))
    what = "Attention" if layout.names_matrices else f"Attention, matrix {matrices[0]}"
    what += ", mean over heads" if all(row.head == "mean" for row in rows) else ""
    title = f"{what}: {queries}; {images}"
    alt = f"Images and maps of weights on their patches, a row for each model. {title}. "
    alt += f"Largest weights of the last layer: {'; '.join(map(_described, rows))}."
    return Picture(name, title, alt, _figure(rows, layout, title))


def _described(row: _Row) -> str:
    """Where the largest weight is, for those who do not see it."""
    weights = row.cells[-1].weights
    down, across = np.unravel_index(np.nan_to_num(weights, nan=-np.inf).argmax(), weights.shape)
    return (
        f"{' '.join(row.name.split())} {weights[down, across]:.1f} times the uniform one, in row "
        f"{down + 1} of {weights.shape[0]}, column {across + 1} of {weights.shape[1]}"
    )


def _figure(rows: Sequence[_Row], layout: _Layout, title: str) -> Figure:
    columns = 1 + layout.step * max(len(row.cells) for row in rows)
    size = 2.6 + CELL * columns, 0.7 + (CELL + 0.25) * len(rows)
    with styled():
        figure = Figure(figsize=size, layout="compressed")
        axes = figure.subplots(len(rows), columns, squeeze=False)
        for ax in axes.flat:
            ax.set_axis_off()
        for of_row, row in zip(axes, rows, strict=True):
            _draw(of_row, row, layout)
        if layout.shared is not None:
            figure.colorbar(
                ScalarMappable(
                    Normalize(layout.shared.low, layout.shared.high), layout.shared.colours
                ),
                ax=axes,
                aspect=12 * len(rows),  # as broad for many rows as for one
                extend="both" if layout.signed else "max",
                label="weight × number of tokens (1: uniform)",
            )
        figure.suptitle(lettering(title, 26 + 16 * columns), x=0, ha="left", fontsize="medium")
        # Arranged once, not for each format: with many maps that takes seconds.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def _draw(axes: Sequence[Axes], row: _Row, layout: _Layout) -> None:
    """One row: the crop, then a map, or a map and its overlay, for each layer."""
    first, *others = axes
    _framed(first).imshow(row.crop)
    first.set_ylabel(row.name, rotation=0, ha="right", va="center", ma="right")
    for number, cell in enumerate(row.cells):
        of_cell = others[layout.step * number : layout.step * (number + 1)]
        scale = layout.shared or Scale.of([cell.weights], signed=layout.signed, whole=True)
        attention_map(_framed(of_cell[0]), cell.weights, scale, size=row.crop.shape[:2])
        for ax in of_cell[1:]:
            attention_overlay(_framed(ax), cell.weights, scale, crop=row.crop)
        heading = [f"layer {cell.layer}"]
        if layout.names_matrices:
            heading.append(lettering(cell.matrix, 22))
        if layout.shared is None and not layout.in_paper:
            heading.append(f"{scale.low:.3g} to {scale.high:.3g}")
        of_cell[0].set_title("\n".join(heading))


def _framed(ax: Axes) -> Axes:
    """The axes in a frame, without ticks."""
    ax.set_axis_on()
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
    ax.spines[:].set(visible=True, linewidth=0.5)
    return ax
