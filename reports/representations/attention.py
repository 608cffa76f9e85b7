"""How attention spreads its weights, by layer: means over images."""

from collections.abc import Sequence

import pandas as pd

from .subject import Subject

NAME = "attention"
"""Of the analysis, whose table has ``image``, ``layer``, ``head`` and `NUMBERS`."""
KEYS = ["layer", "head"]
NUMBERS = ("class_entropy", "class_max", "class_self", "row_entropy", "participation")
COLUMNS = ("label", "under", *KEYS, "n_images", *NUMBERS, "flags")
"""Of attention.csv."""


def attention_table(subjects: Sequence[Subject]) -> pd.DataFrame:
    """Rows of attention.csv: `COLUMNS`.

    Args:
        subjects: models, each as it sees the images and under conditions.
    """
    return pd.concat([_rows(subject) for subject in subjects], ignore_index=True)


def _rows(subject: Subject) -> pd.DataFrame:
    groups = subject.tables[NAME].groupby(KEYS, sort=False)
    counted = groups["row_entropy"].agg(["count", "size"])
    rows = groups[list(NUMBERS)].mean().reset_index()
    missing = counted["size"] - counted["count"]
    rows = rows.assign(
        label=subject.label,
        under=subject.under,
        n_images=counted["count"].to_numpy(),
        flags=[subject.flags_with(count) for count in missing],
    )
    return rows[list(COLUMNS)]
