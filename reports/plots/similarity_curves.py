"""Token similarity by layer, one panel for each tensor.

A line for each model; under conditions its colour and marker, but dashed and hollow.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .curves import MOST_BANDS
from .lettering import lettering, styled
from .panel import legend_height, outside_legend
from .picture import Picture
from .series import Look, looks

TITLES = {
    "attention": "attention output, after projection",
    "block": "tokens after the block",
    "mix": "averaged values, before projection",
}
DASHED = ("--", ":", "-.")
"""Of conditions, in turn."""
TOKENS = {"all": "all tokens", "patches": "patch tokens"}


def similarity_curves(
    ax: Axes,
    similarity: pd.DataFrame,
    *,
    tensor: str,
    tokens: str = "all",
    look_of: Mapping[str, Look] | None = None,
    bands: bool = True,
) -> None:
    """Draw the mean cosine of pairs of tokens over the layer; 0 is what enters the first block.

    The band is the 95 % bootstrap interval over images, drawn for up to `MOST_BANDS` lines. The
    value after the last norm is in the table alone. Beside numbers under conditions those of the
    images as they are have solid lines, whatever their look, and the others dashed ones.

    Args:
        ax: where to.
        similarity: columns of similarity.csv.
        tensor: ``attention``, ``block`` or ``mix``.
        tokens: ``all`` or ``patches``.
        look_of: look of each label; by order of appearance unless given.
        bands: whether intervals are drawn.
    """
    look_of = look_of or looks(list(similarity["label"]))
    rows = _shown(similarity, tensor, tokens)
    curves = list(_curves(rows))
    bands = bands and len(curves) <= MOST_BANDS
    conditions = [under for under in dict.fromkeys(rows["under"]) if under]
    for label, under, curve in curves:
        style = look_of[label]
        if conditions:
            style = style._replace(line=_line(conditions, under), filled=not under)
        _draw(ax, curve, style, band=bands)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("layer (0: input of the first)" if tensor == "block" else "layer")
    lowest = rows[["similarity", "similarity_ci_low"]].to_numpy(float).min(initial=0)
    ax.set_ylim(-0.1 if lowest < 0 else 0, 1)
    ax.set_title(f"{lettering(TITLES[tensor], 44)}\n{TOKENS[tokens]}, {images_shown(rows)}")


def _line(conditions: Sequence[str], under: str) -> str:
    """Solid for the images as they are; conditions have the others in turn."""
    return DASHED[conditions.index(under) % len(DASHED)] if under else "-"


def _curves(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Label, condition and rows of each line."""
    for (label, under), curve in rows.groupby(["label", "under"], sort=False):
        yield str(label), str(under), curve


def _shown(similarity: pd.DataFrame, tensor: str, tokens: str) -> pd.DataFrame:
    layers = similarity["layer"].astype(str)
    rows = similarity[
        (similarity["tensor"] == tensor)
        & (similarity["tokens"] == tokens)
        & layers.str.fullmatch("[0-9]+")
    ]
    return rows.assign(layer=rows["layer"].astype(int), under=rows["under"].fillna(""))


def _draw(ax: Axes, rows: pd.DataFrame, look: Look, *, band: bool) -> None:
    ax.plot(
        rows["layer"],
        rows["similarity"],
        color=look.colour,
        marker=look.marker,
        linestyle=look.line,
        markerfacecolor=look.face,
        label=_name(rows),
        clip_on=False,
        zorder=3,
    )
    if band:
        ax.fill_between(
            rows["layer"],
            rows["similarity_ci_low"],
            rows["similarity_ci_high"],
            color=look.colour,
            alpha=0.13,
            linewidth=0,
        )


def _name(rows: pd.DataFrame) -> str:
    """In the legend: label, condition and flags, a line each."""
    label, under = map(str, rows[["label", "under"]].iloc[0])
    flags = flags_shown(rows)
    lines = [label, f"under {under}" if under else "", f"({flags})" if flags else ""]
    return "\n".join(lettering(line) for line in lines if line)


def flags_shown(rows: pd.DataFrame) -> str:
    """Those of any layer, without that of a choice of images, whose number is in the title."""
    flags = dict.fromkeys(flag for cell in rows["flags"].fillna("") for flag in cell.split(";"))
    return ", ".join(flag for flag in flags if flag and not flag.startswith("limit-"))


def images_shown(rows: pd.DataFrame) -> str:
    """How many are in the numbers, like ``100 images`` or ``99-100 images``."""
    low, high = rows["n_images"].min(), rows["n_images"].max()
    noun = "image" if high == 1 else "images"
    return f"{high} {noun}" if low == high else f"{low}-{high} {noun}"


def similarity_pictures(
    similarity: pd.DataFrame, *, tensors: Sequence[str], tokens: str
) -> Iterator[Picture]:
    """One picture, with a panel for each tensor.

    Args:
        similarity: columns of similarity.csv.
        tensors: which, from left to right.
        tokens: ``all`` or ``patches``.
    """
    look_of = looks(list(similarity["label"]))
    with styled():
        shown = _shown(similarity, tensors[0], tokens)
        names = [_name(curve) for _, _, curve in _curves(shown)]
        height = max(3.4, legend_height(names))
        figure = Figure(figsize=(1.2 + 3.6 * len(tensors), height))
        axes = figure.subplots(1, len(tensors), sharey=True, squeeze=False)[0]
        for ax, tensor in zip(axes, tensors, strict=True):
            similarity_curves(ax, similarity, tensor=tensor, tokens=tokens, look_of=look_of)
        axes[0].set_ylabel("average cosine similarity of tokens")
        outside_legend(axes[-1])
    place = ", ".join(dict.fromkeys(similarity["dataset"]))
    title = f"Token similarity by layer: {place}, {TOKENS[tokens]}"
    alt = f"Line plots of the mean cosine of pairs of tokens over the layer. {title}. "
    alt += " ".join(_described(similarity, tensor, tokens) for tensor in tensors)
    yield Picture("similarity", title, alt, figure)


def paper_similarity(similarity: pd.DataFrame, *, tensor: str, tokens: str) -> Iterator[Picture]:
    """One picture of one tensor in the form of arXiv 2503.00687: lines alone, names inside.

    Args:
        similarity: columns of similarity.csv.
        tensor: which; the paper does not say of which its figure is.
        tokens: ``all`` or ``patches``.
    """
    with styled():
        figure = Figure(figsize=(4.2, 3.2))
        ax = figure.subplots()
        similarity_curves(ax, similarity, tensor=tensor, tokens=tokens, bands=False)
        ax.set_title("")
        ax.set_ylabel(f"average token cosine similarity\n({lettering(TITLES[tensor], 44)})")
        ax.legend(loc="best")
    place = ", ".join(dict.fromkeys(similarity["dataset"]))
    title = f"Average token cosine similarity by layer: {place}, {TOKENS[tokens]}"
    alt = f"A line plot. {title}. {_described(similarity, tensor, tokens)}"
    yield Picture("similarity", title, alt, figure)


def _described(similarity: pd.DataFrame, tensor: str, tokens: str) -> str:
    rows = _shown(similarity, tensor, tokens)
    ends = [
        f"{label}{f' under {under}' if under else ''} "
        f"{curve['similarity'].iloc[0]:.2f} to {curve['similarity'].iloc[-1]:.2f}"
        for label, under, curve in _curves(rows)
    ]
    return f"{TITLES[tensor]}, first to last layer: {'; '.join(ends)}."
