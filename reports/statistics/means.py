"""Means over images of numbers that are no counts, and their intervals."""

import numpy as np
from numpy.typing import NDArray

from .paired import DRAWS

MOST_COUNTS = 10_000_000
"""Of resampled images in memory at a time."""
Floats = NDArray[np.float64]


def mean_intervals(
    values: Floats, *, seed: int, level: float = 0.95, draws: int = DRAWS
) -> tuple[Floats, Floats]:
    """Percentile bootstrap intervals of means over images (Efron 1979), of many numbers at once.

    All numbers are resampled alike: a sample draws the same images for each of them. How often
    each image is drawn is multinomial, so a sample is a product of counts and values.

    Args:
        values: (images, numbers); NaN where an image has no such number, which is left out of it.
        seed: of the resampling.
        level: confidence level in (0, 1), of each interval alone.
        draws: number of samples.

    Returns:
        Lower and upper bounds, each (numbers,); NaN where fewer than two images have the number,
        which says nothing of how it varies.
    """
    if not len(values):
        return np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    present = np.isfinite(values)
    filled = np.where(present, values, 0.0)
    generator = np.random.default_rng([seed, len(values)])
    means = np.empty((draws, values.shape[1]))
    step = max(1, MOST_COUNTS // len(values))
    shares = np.full(len(values), 1 / len(values))
    with np.errstate(invalid="ignore", divide="ignore"):  # a sample without any image that has it
        for start in range(0, draws, step):
            some = slice(start, min(start + step, draws))
            counts = generator.multinomial(len(values), shares, size=some.stop - start)
            means[some] = (counts @ filled) / (counts @ present)
    enough = present.sum(0) >= 2
    tail = (1 - level) / 2
    bounds = np.full((2, values.shape[1]), np.nan)
    if enough.any():
        bounds[:, enough] = np.nanquantile(means[:, enough], [tail, 1 - tail], axis=0)
    return bounds[0], bounds[1]
