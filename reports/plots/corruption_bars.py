"""Corruption errors of several models, side by side, as bars."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN
from robustbench_twicing.errors import UserError

from ..imagenet_c.corruption_error import Baseline
from ..imagenet_c.corruption_rows import corruption_rows
from ..imagenet_c.corruption_scores import corruption_scores
from .lettering import lettering
from .panel import panel
from .series import Look, looks

MOST_BARS = 5
"""Models beside each other that can still be told apart; draw more on axes of their own."""
MEANS = {False: "mCE", True: "mean CE of the 4 extra corruptions"}
"""The mean that goes with the corruptions, by whether they are the extra ones."""


def corruption_bars(
    ax: Axes,
    results: pd.DataFrame,
    *,
    extra: bool = False,
    baseline: Baseline | None = None,
    look_of: Mapping[str, Look] | None = None,
) -> None:
    """Draw CE of each corruption and their mean, in percent of a baseline's error; less is better.

    A number that is incomplete or not comparable is not drawn; the legend counts them.

    Args:
        ax: where to.
        results: columns of `COLUMNS`, of one data set, protocol and source of images.
        extra: the four hold-out corruptions instead of the fifteen of mCE.
        baseline: the normaliser, AlexNet unless given.
        look_of: look of each label; by order of appearance unless given.

    Raises:
        UserError: several data sets, protocols or sources, or one condition of a label twice.
    """
    shown = panel(corruption_rows(results))
    rows = shown.results
    sources = list(dict.fromkeys(map(str, rows["source"])))
    if len(sources) > 1:
        raise UserError(f"one picture shows images of one source, not {', '.join(sources)}")
    look_of = look_of or looks(list(results["label"]))
    names = [name for name in (EXTRA if extra else MAIN) if name in set(rows["corruption"])]
    scores = corruption_scores(results, baseline=baseline)
    labels = list(dict.fromkeys(rows["label"]))
    width = 0.8 / len(labels)
    for number, label in enumerate(labels):
        heights = _heights(scores[scores["label"] == label], names, MEANS[extra])
        offset = (number + 0.5) * width - 0.4
        _draw(ax, heights, offset, width, lettering(label), look_of[label])
    unit = next(iter(scores.loc[scores["normaliser"] != "", "normaliser"]), "")
    _axes(ax, names, "mean CE" if extra else "mCE", unit)
    title = f"ImageNet-C {'extra ' if extra else ''}corruption error ({sources[0]})"
    ax.set_title(f"{lettering(title, 100)}\n{lettering(shown.place, 100)}")


def _heights(scores: pd.DataFrame, names: Sequence[str], mean: str) -> list[float]:
    """Percent in order, the mean last; NaN where there is no number."""
    ce = scores[scores["number"] == "CE"].set_index("corruption")["percent"].reindex(list(names))
    means = scores.loc[scores["number"] == mean, "percent"]
    return [*ce.astype(float), *means.astype(float)]


def _draw(
    ax: Axes, heights: Sequence[float], offset: float, width: float, name: str, style: Look
) -> None:
    places = [place for place, height in enumerate(heights) if not np.isnan(height)]
    gaps = len(heights) - len(places)
    ax.bar(
        [place + offset for place in places],
        [heights[place] for place in places],
        width,
        label=f"{name}\n({gaps} not complete)" if gaps else name,
        facecolor=style.colour,
        edgecolor="white",
        hatch=style.hatch,
        linewidth=0.4,
    )


def _axes(ax: Axes, names: Sequence[str], mean: str, unit: str) -> None:
    ax.set_xticks(
        range(len(names) + 1),
        [*(name.replace("_", " ") for name in names), mean],
        rotation=40,
        ha="right",
        rotation_mode="anchor",
    )
    ax.tick_params("x", length=0)
    ax.grid(axis="x", visible=False)
    ax.axvline(len(names) - 0.5, color="black", linewidth=0.8, linestyle=":")
    ax.axhline(100, color="black", linewidth=0.8, linestyle="--", zorder=1)
    ax.set_ylabel(f"CE, % of the error of\n{lettering(unit, 44)}\n(less is better)")
