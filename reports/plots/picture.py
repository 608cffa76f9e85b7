"""A picture, what is said of it, its files, and its form for one column of a paper."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import tee
from pathlib import Path

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from robustbench_twicing.files.atomic import write_atomically

from ..text.file_names import told_apart
from ..text.wrapping import wrapped
from .lettering import styled

FORMATS = ("png", "pdf", "svg")
WITHOUT_DATE = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
"""What is left out, so that equal results give equal files."""

WIDTH = 3.25
"""Of a column, inches; what follows is for pictures in one."""
LETTERS = 7.0
PANEL = 1.9
"""Least height of a pair of axes with its labels, inches."""
ROW = 0.19
"""Of a row of a map or a forest plot, at least."""
MARKER = 3.0
"""Of a point, in points."""
UPRIGHT = 0.9
"""Of names of columns, inches."""
LINE = 38
"""Letters of a line of an axis' label."""
MOST_COLUMNS = 3
"""Of the legend."""
MOST_ACROSS = 6
"""Columns of a map whose numbers still stand beside each other."""


@dataclass(frozen=True)
class Picture:
    """A figure and what is said of it.

    Attributes:
        name: as a file name without its ending; short, so that two may have the same.
        title: one line.
        alt: what it shows, for those who do not see it.
        figure: drawn; to be saved inside `styled`.
        is_exact: whether files have the figure's size, or what is drawn and a margin.
    """

    name: str
    title: str
    alt: str
    figure: Figure
    is_exact: bool = False


def save_pictures(drawn: Iterable[Picture], folder: Path) -> list[Path]:
    """Write each picture in all `FORMATS`, named after it; names that are alike are numbered.

    Files hold the title and what the picture shows: PNG and SVG as ``Title`` and ``Description``,
    PDF as ``Title`` and ``Subject``.

    Raises:
        UserError: the folder cannot be written to.
    """
    for_names, to_save = tee(drawn)  # drawn one by one: each is gone when the next is there
    named = zip(told_apart(picture.name for picture in for_names), to_save, strict=True)
    return [_save(picture, folder, name, form) for name, picture in named for form in FORMATS]


def _metadata(picture: Picture, ending: str) -> dict[str, str | None]:
    about = {"Title": picture.title, "Subject" if ending == "pdf" else "Description": picture.alt}
    # Names may hold halves of surrogate pairs, which UTF-8 has no bytes for.
    texts = {key: text.encode("utf-8", "backslashreplace").decode() for key, text in about.items()}
    return {**texts, **WITHOUT_DATE[ending]}


def _save(picture: Picture, folder: Path, name: str, ending: str) -> Path:
    path = folder / f"{name}.{ending}"
    content = BytesIO()  # Matplotlib's own writers say nothing of a full disk
    with styled(), rc_context({"savefig.bbox": "standard"} if picture.is_exact else {}):
        picture.figure.savefig(content, format=ending, metadata=_metadata(picture, ending))
    write_atomically(path, lambda temporary: temporary.write_bytes(content.getvalue()))
    return path


def in_column(drawn: Iterable[Picture]) -> Iterator[Picture]:
    """Pictures so that they go into a paper as they are, without another size.

    Axes stand below each other and the legend below all. What a title says is for the caption:
    `save_pictures` keeps it as the file's title. Maps that are too wide stay as they are.
    """
    for picture in drawn:
        maps = [ax for ax in picture.figure.axes if ax.images]
        if any(len(ax.get_xticks()) > MOST_ACROSS for ax in maps):
            yield picture
            continue
        with styled():
            _set(picture.figure)
        yield replace(picture, is_exact=True)


def _set(figure: Figure) -> None:
    axes = figure.axes
    figure.suptitle("").remove()
    figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.03)
    handles, labels = axes[0].get_legend_handles_labels()
    heights = [_height(ax, len(handles)) for ax in axes]
    rows = figure.add_gridspec(len(axes), 1, height_ratios=heights)
    for number, ax in enumerate(axes):
        ax.set_subplotspec(rows[number, 0])
        ax.set_title(ax.get_title(loc="left") if len(axes) > 1 else "")
        ax.tick_params("y", labelleft=True)
        _set_labels(ax, is_last=ax is axes[-1])
    for text in figure.findobj(Text):
        text.set_fontsize(LETTERS)
    for line in figure.findobj(Line2D):
        line.set_markersize(min(line.get_markersize(), MARKER))
    figure.set_size_inches(WIDTH, sum(heights) + UPRIGHT * _has_long_names(axes[-1]))
    if handles:
        _add_legend(figure, handles, labels)
    figure.draw_without_rendering()
    for ax in axes:
        if ax.xaxis.label.get_window_extent().x1 > WIDTH * figure.dpi:
            ax.set_xlabel(ax.get_xlabel(), loc="right")


def _set_labels(ax: Axes, *, is_last: bool) -> None:
    """In short lines; names of columns upright, and below the last axes alone."""
    ax.set_xlabel("\n".join(wrapped(ax.get_xlabel(), LINE)) if is_last else "")
    ax.tick_params("x", labelbottom=is_last)
    ax.set_ylabel(ax.get_ylabel().replace(" (", "\n("))
    if legend := ax.get_legend():
        legend.remove()
    if _has_long_names(ax):
        ax.tick_params("x", labelrotation=90)


def _has_long_names(ax: Axes) -> bool:
    return bool(ax.images) and any(len(text.get_text()) > 3 for text in ax.get_xticklabels())


def _height(ax: Axes, series: int) -> float:
    """Inches; the series of a forest plot stand below each other in each of its rows."""
    is_forest = ax.yaxis_inverted() and not ax.images
    least = 0.0 if ax.images else PANEL
    return max(least, 0.6 + max(ROW, is_forest * 1.3 * MARKER / 72 * series) * len(ax.get_yticks()))


def _add_legend(figure: Figure, handles: list[Artist], labels: list[str]) -> None:
    """In as many columns as there is room for, below the axes, which keep their height."""
    columns = MOST_COLUMNS
    while True:
        legend = figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=columns,
            fontsize=LETTERS,
            handlelength=2.4,
            columnspacing=1.0,
            labelspacing=0.3,
        )
        extent = legend.get_window_extent()
        if columns == 1 or extent.width / figure.dpi <= WIDTH - 0.05:
            break
        legend.remove()
        columns -= 1
    figure.set_size_inches(WIDTH, figure.get_figheight() + extent.height / figure.dpi)
