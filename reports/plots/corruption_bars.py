"""Pictures of ImageNet-C: corruption errors as bars for a few models, and a map for each model."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN
from robustbench_twicing.errors import UserError

from ..imagenet_c.corruption_rows import corruption_rows
from ..imagenet_c.corruption_scores import scores_of
from ..text.file_names import file_name
from .corruption_map import corruption_map
from .lettering import lettering, styled
from .panel import outside_legend, panel
from .picture import Picture
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
    scores: pd.DataFrame | None = None,
    look_of: Mapping[str, Look] | None = None,
) -> None:
    """Draw CE of each corruption and their mean, in percent of a baseline's error; less is better.

    A number that is incomplete or not comparable is not drawn; the legend counts them.

    Args:
        ax: where to.
        results: columns of `COLUMNS`, of one data set, protocol and source of images.
        extra: the four hold-out corruptions instead of the fifteen of mCE.
        scores: `corruption_scores` of at least these results, in units of AlexNet unless given.
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
    scores = scores_of(results, scores)
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


def corruption_pictures(
    rows: pd.DataFrame,
    scores: pd.DataFrame | None,
    look_of: Mapping[str, Look],
    *,
    place: Sequence[str] = (),
) -> Iterator[Picture]:
    """Bars of the fifteen corruptions, bars of the extra four, and maps.

    Args:
        rows: of ImageNet-C, of one data set, protocol and source.
        scores: `corruption_scores` of at least these rows, in units of AlexNet unless given.
        look_of: look of each label.
        place: for the files' names, what these rows are of.
    """
    scores = scores_of(rows, scores)
    complete = scores.loc[(scores["number"] == "CE") & (scores["status"] == "ok")]
    present = set(corruption_rows(rows)["corruption"])
    labels = list(dict.fromkeys(rows["label"]))
    for extra, names in ((False, MAIN), (True, EXTRA)):
        for first in range(0, len(labels) if present & set(names) else 0, MOST_BARS):
            some = rows[rows["label"].isin(labels[first : first + MOST_BARS])]
            shown = complete["label"].isin(some["label"]) & complete["corruption"].isin(names)
            if not shown.any():
                continue  # maps show accuracy all the same
            with styled():
                figure = Figure(figsize=(4.2 if extra else 9.0, 3.0))
                ax = figure.subplots()
                corruption_bars(ax, some, extra=extra, scores=scores, look_of=look_of)
                outside_legend(ax)
            number = f"{first // MOST_BARS + 1}" if len(labels) > MOST_BARS else ""
            kind = f"{'extra ' if extra else ''}corruption error"
            yield _bars(some, figure, kind, file_name(f"{kind}s", *place, number))
    for label in labels:
        with styled():
            figure = Figure(figsize=(4.2, 1.2 + 0.22 * len(present)))
            corruption_map(figure.subplots(), rows, label=label)
        title = f"Accuracy of {label} by corruption and severity: {_place(rows)}"
        alt = f"Map of top-1 accuracy in percent. {title}. Its numbers are in the tables."
        yield Picture(file_name("corruption-map", label, *place), title, alt, figure)


def _bars(rows: pd.DataFrame, figure: Figure, kind: str, name: str) -> Picture:
    title = f"ImageNet-C {kind}: {_place(rows)}"
    models = ", ".join(dict.fromkeys(rows["label"]))
    alt = f"Bars of CE in percent, less is better. {title}. Models: {models}."
    return Picture(name, title, alt, figure)


def _place(rows: pd.DataFrame) -> str:
    return f"{panel(rows).place}, {rows['source'].iloc[0]}"
