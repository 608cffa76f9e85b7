"""Pictures of differences to a baseline."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from ..imagenet_c.corruption_rows import CORRUPTED
from ..text.file_names import file_name, places
from .forest import MOST_MODELS, difference_forest
from .legend import outside_legend
from .lettering import styled
from .picture import Picture
from .series import looks

MOST_CONDITIONS = 30
"""Rows of one picture. Where there are more, corruptions are left to the tables; where there are
still more, everything is."""


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
        place = f"{dataset}, {rows['n_images'].max()} images, protocol {protocol}"
        for first in range(0, len(labels), MOST_MODELS):
            some = labels[first : first + MOST_MODELS]
            own = rows[rows["label"].isin(some)]
            with styled():
                figure = Figure(figsize=(6.2, 1.2 + conditions * (0.14 + 0.14 * len(some))))
                ax = figure.subplots()
                difference_forest(ax, own, baseline=baseline, place=place, look_of=look_of)
                outside_legend(ax)
            number = f"{first // MOST_MODELS + 1}" if len(labels) > MOST_MODELS else ""
            title = f"Differences to {baseline}: {place}"
            alt = f"Forest plot of top-1 accuracy minus the baseline's. {title}. "
            alt += f"Models: {', '.join(some)}. The numbers are in the table below."
            place_names = places(rows, differences, ("dataset", "protocol"))
            name = file_name("differences", *place_names, number)
            yield Picture(name, title, alt, figure)
