"""Token similarity by layer, a line for each model, one panel for each tensor."""

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
TOKENS = {"all": "all tokens", "patches": "patch tokens"}


def similarity_curves(
    ax: Axes,
    similarity: pd.DataFrame,
    *,
    tensor: str,
    tokens: str = "all",
    look_of: Mapping[str, Look] | None = None,
) -> None:
    """Draw the mean cosine of pairs of tokens over the layer; 0 is what enters the first block.

    The band is the 95 % bootstrap interval over images, drawn for up to `MOST_BANDS` models. The
    value after the last norm is in the table alone.

    Args:
        ax: where to.
        similarity: columns of similarity.csv.
        tensor: ``attention``, ``block`` or ``mix``.
        tokens: ``all`` or ``patches``.
        look_of: look of each label; by order of appearance unless given.
    """
    look_of = look_of or looks(list(similarity["label"]))
    rows = _shown(similarity, tensor, tokens)
    labels = list(dict.fromkeys(rows["label"]))
    for label in labels:
        _draw(ax, rows[rows["label"] == label], look_of[label], band=len(labels) <= MOST_BANDS)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("layer (0: input of the first)" if tensor == "block" else "layer")
    lowest = rows[["similarity", "similarity_ci_low"]].to_numpy(float).min(initial=0)
    ax.set_ylim(-0.1 if lowest < 0 else 0, 1)
    ax.set_title(f"{lettering(TITLES[tensor], 44)}\n{TOKENS[tokens]}, {images_shown(rows)}")


def _shown(similarity: pd.DataFrame, tensor: str, tokens: str) -> pd.DataFrame:
    layers = similarity["layer"].astype(str)
    rows = similarity[
        (similarity["tensor"] == tensor)
        & (similarity["tokens"] == tokens)
        & layers.str.fullmatch("[0-9]+")
    ]
    return rows.assign(layer=rows["layer"].astype(int))


def _draw(ax: Axes, rows: pd.DataFrame, look: Look, *, band: bool) -> None:
    flags = flags_shown(rows)
    name = lettering(str(rows["label"].iloc[0]))
    ax.plot(
        rows["layer"],
        rows["similarity"],
        color=look.colour,
        marker=look.marker,
        linestyle=look.line,
        markerfacecolor=look.face,
        label=f"{name}\n{lettering(f'({flags})')}" if flags else name,
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
        height = max(3.4, legend_height(list(look_of)))
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


def _described(similarity: pd.DataFrame, tensor: str, tokens: str) -> str:
    rows = _shown(similarity, tensor, tokens)
    ends = [
        f"{label} {curve['similarity'].iloc[0]:.2f} to {curve['similarity'].iloc[-1]:.2f}"
        for label, curve in rows.groupby("label", sort=False)
    ]
    return f"{TITLES[tensor]}, first to last layer: {'; '.join(ends)}."
