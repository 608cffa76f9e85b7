"""Corruption errors of several models, side by side, as bars."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes

from ..corruption_error import EXTRA, MAIN, corruption_error, extra_mean_ce, mean_ce
from ..corruption_rows import corruption_errors, corruption_rows
from .lettering import lettering
from .panel import panel
from .series import Look, looks

MOST_BARS = 5
"""Models beside each other that can still be told apart; draw more on axes of their own."""


def corruption_bars(
    ax: Axes,
    results: pd.DataFrame,
    *,
    extra: bool = False,
    look_of: Mapping[str, Look] | None = None,
) -> None:
    """Draw CE of each corruption and their mean, in percent of AlexNet's error; less is better.

    A number with a severity missing is not drawn; the legend counts them.

    Args:
        ax: where to.
        results: columns of `COLUMNS`, of one data set and protocol.
        extra: the four hold-out corruptions instead of the fifteen of mCE.
        look_of: look of each label; by order of appearance unless given.

    Raises:
        UserError: several data sets or protocols, or one condition of a label twice.
    """
    shown = panel(corruption_rows(results))
    look_of = look_of or looks(list(results["label"]))
    rows = shown.results
    present = set(rows["corruption"])
    names = [name for name in (EXTRA if extra else MAIN) if name in present]
    labels = list(dict.fromkeys(rows["label"]))
    width = 0.8 / len(labels)
    for number, label in enumerate(labels):
        heights = _heights(corruption_rows(rows[rows["label"] == label]), names, extra=extra)
        places = [(place, each) for place, each in enumerate(heights.values()) if each is not None]
        offset = (number + 0.5) * width - 0.4
        style = look_of[label]
        gaps = len(heights) - len(places)
        ax.bar(
            [place + offset for place, _ in places],
            [height for _, height in places],
            width,
            label=lettering(label) + (f"\n({gaps} not complete)" if gaps else ""),
            facecolor=style.colour,
            edgecolor="white",
            hatch=style.hatch,
            linewidth=0.4,
        )
    mean = "mean CE" if extra else "mCE"
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
    ax.set_ylabel("CE, % of AlexNet's error (less is better)")
    title = f"ImageNet-C {'extra ' if extra else ''}corruption error ({_sources(rows)})"
    ax.set_title(f"{title}\n{lettering(shown.place, 100)}")


def _heights(rows: pd.DataFrame, names: Sequence[str], *, extra: bool) -> dict[str, float | None]:
    errors = corruption_errors(rows)
    ces = {name: corruption_error(errors, name).percent for name in names}
    mean = extra_mean_ce(errors) if extra else mean_ce(errors)
    return {**ces, "mean": mean.percent}


def _sources(rows: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(map(str, rows["source"])))
