"""Token similarity by layer: means over images, their intervals, differences between models."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..statistics.means import mean_intervals
from .subject import Subject

NAME = "similarity"
"""Of the analysis, whose table has ``image``, `KEYS`, ``similarity``, ``spread``, ``n_tokens``,
``zero_tokens`` and ``finite``: one row of each image, tensor, choice of tokens and layer."""
KEYS = ["tensor", "tokens", "layer"]
COLUMNS = (
    *("label", "model", "checkpoint_sha256", "dataset", "under", "n_images", *KEYS),
    *("similarity", "similarity_ci_low", "similarity_ci_high", "spread"),
    *("n_tokens", "n_zero_tokens", "flags"),
)
"""Of similarity.csv."""
BY_IMAGE = ("image", "label", "under", *KEYS, "similarity")
"""Of similarity_by_image.csv."""
DIFFERENCES = (
    *("label", "under", "baseline", "baseline_under", "dataset", "n_images", *KEYS),
    *("difference", "difference_ci_low", "difference_ci_high"),
)
"""Of similarity_differences.csv."""
Column = NDArray[np.float64]


def similarity_table(subjects: Sequence[Subject], *, seed: int) -> pd.DataFrame:
    """Rows of similarity.csv: `COLUMNS`.

    Args:
        subjects: models.
        seed: of the bootstrap over images.
    """
    return pd.concat([_rows(subject, seed) for subject in subjects], ignore_index=True)


def by_image_table(subjects: Sequence[Subject]) -> pd.DataFrame:
    """Rows of similarity_by_image.csv: `BY_IMAGE`."""
    tables = [
        subject.tables[NAME].assign(label=subject.label, under=subject.under)
        for subject in subjects
    ]
    return pd.concat(tables, ignore_index=True)[list(BY_IMAGE)]


def difference_table(subjects: Sequence[Subject], *, seed: int) -> pd.DataFrame:
    """Rows of similarity_differences.csv, `DIFFERENCES`: what each subject has more than another.

    ``label`` under ``under`` minus ``baseline`` under ``baseline_under``: each model minus the
    first one under the same condition, then each model under a condition minus itself on the images
    as they are. Differences are taken image by image, on the images that both have, and in the
    layers that both have.

    Args:
        subjects: models on the same data set, under the same conditions.
        seed: of the bootstrap over images.
    """
    pairs = list(_pairs(subjects))
    tables = [pd.DataFrame(columns=DIFFERENCES)][: not pairs]
    columns = {(subject.label, subject.under): _columns(subject) for subject in subjects}
    for subject, baseline in pairs:
        first = columns[baseline.label, baseline.under]
        second = columns[subject.label, subject.under]
        keys = [key for key in second if key in first]
        values = np.array([second[key] - first[key] for key in keys]).reshape(len(keys), -1).T
        low, high = mean_intervals(values, seed=seed)
        rows = pd.DataFrame(keys, columns=KEYS).assign(
            label=subject.label,
            under=subject.under,
            baseline=baseline.label,
            baseline_under=baseline.under,
            dataset=subject.dataset,
            n_images=np.isfinite(values).sum(0),
            difference=pd.DataFrame(values).mean().to_numpy(),
            difference_ci_low=low,
            difference_ci_high=high,
        )
        tables.append(rows[list(DIFFERENCES)])
    return pd.concat(tables, ignore_index=True)


def _pairs(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Subject]]:
    """Each subject with what it is compared with."""
    known = {(subject.label, subject.under): subject for subject in subjects}
    first = subjects[0].label
    for subject in subjects:
        if subject.label != first:
            yield subject, known[first, subject.under]
    for subject in subjects:
        if subject.under:
            yield subject, known[subject.label, ""]


def _rows(subject: Subject, seed: int) -> pd.DataFrame:
    columns = _columns(subject)
    low, high = mean_intervals(np.stack(list(columns.values()), axis=1), seed=seed)
    rows = (
        subject.tables[NAME]
        .groupby(KEYS, sort=False)
        .agg(
            n_images=("similarity", "count"),
            similarity=("similarity", "mean"),
            spread=("spread", "mean"),
            n_tokens=("n_tokens", "first"),
            n_zero_tokens=("zero_tokens", "sum"),
            finite=("finite", "sum"),
            shown=("finite", "size"),
        )
        .reset_index()
    )
    rows = rows.assign(
        label=subject.label,
        model=subject.model,
        checkpoint_sha256=subject.checkpoint_sha256,
        dataset=subject.dataset,
        under=subject.under,
        similarity_ci_low=low,
        similarity_ci_high=high,
        flags=[subject.flags_with(count) for count in rows["shown"] - rows["finite"]],
    )
    return rows[list(COLUMNS)]


def _columns(subject: Subject) -> dict[tuple[str, ...], Column]:
    """Similarity of every image, in the order of `Subject.images`; NaN where there is none."""
    images = list(subject.images)
    return {
        tuple(map(str, key)): rows.set_index("image")["similarity"].reindex(images).to_numpy(float)
        for key, rows in subject.tables[NAME].groupby(KEYS, sort=False)
    }
