"""Differences to a baseline on the same images, with their intervals: axes, and pictures."""

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustbench_twicing.files.printable import count

from ..imagenet_c.corruption_rows import CORRUPTED
from ..text.file_names import file_name, places
from .lettering import lettering, styled
from .panel import outside_legend
from .picture import Picture
from .series import Look, looks

MOST_MODELS = 6
"""Models under each other in one condition; draw more on axes of their own."""
SPREAD = 0.7
"""Share of a condition's height that its models take."""
MOST_CONDITIONS = 30
"""Rows of one picture. Where there are more, corruptions are left to the tables; where there are
still more, everything is."""


def difference_forest(
    ax: Axes,
    differences: pd.DataFrame,
    *,
    baseline: str,
    place: str,
    look_of: Mapping[str, Look] | None = None,
) -> None:
    """Draw a forest plot: conditions down, differences with 95 % intervals across.

    A filled marker is a significant difference, a hollow one is not; right of 0 the model is better
    than the baseline.

    Args:
        ax: where to.
        differences: ``label``, ``condition``, ``difference``, ``difference_ci_low``,
            ``difference_ci_high`` (percentage points, the model minus the baseline) and
            ``significant``, one row a label and condition; NaN where nothing could be compared.
        baseline: its label.
        place: data set, number of images and protocol, for the title.
        look_of: look of each label; by order of appearance unless given.
    """
    look_of = look_of or looks([baseline, *differences["label"]])
    labels = list(dict.fromkeys(differences["label"]))
    conditions = list(dict.fromkeys(differences["condition"]))
    for number, label in enumerate(labels):
        rows = differences[differences["label"] == label].dropna(subset="difference")
        shift = SPREAD * ((number + 0.5) / len(labels) - 0.5)
        heights = [conditions.index(name) + shift for name in rows["condition"]]
        _draw(ax, rows, heights, look_of[label], lettering(label))
    ax.axvline(0, color="black", linewidth=0.8, zorder=1)
    ax.set_yticks(range(len(conditions)), [lettering(name, 28) for name in conditions])
    ax.set_ylim(len(conditions) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    for line in range(1, len(conditions)):
        ax.axhline(line - 0.5, color="#d0d0d0", linewidth=0.6, zorder=0)
    ax.set_xlabel("top-1 accuracy minus the baseline's, percentage points (right: better)")
    ax.set_title(
        f"Differences to {lettering(baseline, 56)}\n"
        f"95 % intervals; filled: significant\n{lettering(place, 64)}"
    )


def _draw(ax: Axes, rows: pd.DataFrame, heights: list[float], style: Look, name: str) -> None:
    middle = rows["difference"]
    errors = [middle - rows["difference_ci_low"], rows["difference_ci_high"] - middle]
    ax.errorbar(
        rows["difference"],
        heights,
        xerr=[length.clip(lower=0).to_numpy() for length in errors],
        color=style.colour,
        linestyle="none",
        elinewidth=1.2,
        label=name,
        marker=style.marker,
        markerfacecolor="white",
    )
    sure = rows["significant"].to_numpy(dtype=bool)
    ax.plot(
        rows["difference"].to_numpy()[sure],
        [height for height, is_sure in zip(heights, sure, strict=True) if is_sure],
        color=style.colour,
        linestyle="none",
        marker=style.marker,
        zorder=4,
    )


def forest_pictures(differences: pd.DataFrame, baseline: str) -> Iterator[Picture]:
    """One forest plot for each data set and protocol, and for each few models.

    Args:
        differences: ``dataset``, ``protocol``, ``n_images`` and the columns of `difference_forest`.
        baseline: label of the model that the others are compared with.
    """
    look_of = looks([baseline, *differences["label"]])
    for (dataset, protocol), rows in differences.groupby(["dataset", "protocol"], sort=False):
        if rows["condition"].nunique() > MOST_CONDITIONS:
            rows = rows[~rows["condition"].str.partition("/")[0].isin(CORRUPTED)]
        labels = list(dict.fromkeys(rows["label"]))
        conditions = rows["condition"].nunique()
        if not 0 < conditions <= MOST_CONDITIONS:
            continue
        place = f"{dataset}, {count(rows['n_images'].max(), 'image')}, protocol {protocol}"
        for first in range(0, len(labels), MOST_MODELS):
            some = labels[first : first + MOST_MODELS]
            with styled():
                figure = Figure(figsize=(6.2, 1.2 + conditions * (0.14 + 0.14 * len(some))))
                ax = figure.subplots()
                shown = rows[rows["label"].isin(some)]
                difference_forest(ax, shown, baseline=baseline, place=place, look_of=look_of)
                outside_legend(ax)
            number = f"{first // MOST_MODELS + 1}" if len(labels) > MOST_MODELS else ""
            title = f"Differences to {baseline}: {place}"
            alt = f"Forest plot of top-1 accuracy minus the baseline's. {title}. "
            alt += f"Models: {', '.join(some)}. The numbers are in the table below."
            place_names = places(rows, differences, ("dataset", "protocol"))
            name = file_name("differences", *place_names, number)
            yield Picture(name, title, alt, figure)
