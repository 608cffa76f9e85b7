"""Eigenvalues of attention matrices by layer: means over heads and images, and medians by rank."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .subject import Subject

NAME = "spectrum"
"""Of the analysis, whose table has ``image``, ``layer``, ``head`` and numbers of each head."""
MEANS = ("mean_abs", "second_abs", "mean_abs_effective", "second_abs_effective")
SHARES = {"share_complex": "complex", "share_negative": "negative"}
"""Share of the ``large`` eigenvalues of an image -> column that counts them by head."""
CAPACITIES = ("capacity_1", "capacity_2", "capacity_6", "capacity_12")
COLUMNS = (
    *("label", "under", "layer", "n_images"),
    *(*MEANS, "max_abs_effective", "share_above_1", *SHARES, *CAPACITIES, "flags"),
)
"""Of spectrum.csv."""
MAGNITUDES = ("abs", "abs_effective")
"""Of A, and of the matrix that multiplies the values; the table has them by rank, `abs_0` ..."""
CURVES = ("label", "under", "layer", "rank", *MAGNITUDES)
"""Of spectrum_curves.csv; ``rank`` is from 0, the largest, to 1, the smallest."""


def spectrum_table(subjects: Sequence[Subject]) -> pd.DataFrame:
    """Rows of spectrum.csv: `COLUMNS`.

    Args:
        subjects: models.
    """
    return pd.concat([_rows(subject) for subject in subjects], ignore_index=True)


def _rows(subject: Subject) -> pd.DataFrame:
    """Numbers of each image first: of its heads the means, the largest, and shares of all."""
    by_image = subject.tables[NAME].groupby(["layer", "image"], sort=False)
    images = by_image[[*MEANS, "share_above_1", *CAPACITIES]].mean()
    images["max_abs_effective"] = by_image["max_abs_effective"].max()
    counts = by_image[["large", *SHARES.values()]].sum()
    for share, counted in SHARES.items():
        images[share] = counts[counted] / counts["large"]
    layers = images.groupby(level="layer", sort=False)
    present = layers["mean_abs"].count()
    return (
        layers.mean()
        .assign(
            label=subject.label,
            under=subject.under,
            n_images=present,
            flags=[subject.flags_with(count) for count in layers.size() - present],
        )
        .reset_index()[list(COLUMNS)]
    )


def spectrum_curves(subjects: Sequence[Subject]) -> pd.DataFrame:
    """Rows of spectrum_curves.csv, `CURVES`: medians over images and heads, rank by rank.

    Args:
        subjects: models.
    """
    return pd.concat([_curves(subject) for subject in subjects], ignore_index=True)


def _curves(subject: Subject) -> pd.DataFrame:
    table = subject.tables[NAME]
    points = sum(str(name).removeprefix("abs_").isdecimal() for name in table)
    layers = table.groupby("layer", sort=False)
    columns = {
        name: layers[[f"{name}_{point}" for point in range(points)]].median() for name in MAGNITUDES
    }
    labels = next(iter(columns.values())).index
    return pd.DataFrame(
        {
            "label": subject.label,
            "under": subject.under,
            "layer": np.repeat(labels, points),
            "rank": np.tile(np.linspace(0, 1, points), len(labels)),
            **{name: medians.to_numpy().ravel() for name, medians in columns.items()},
        }
    )
