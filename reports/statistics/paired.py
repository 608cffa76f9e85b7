"""Two models on the same images: the difference of their accuracies and whether it is chance."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .intervals import Interval

DRAWS = 10_000
"""Bootstrap samples; their own error moves a bound by about 1 % of the interval's width."""
SIGNIFICANT = 0.05
"""Family-wise level of the marks and verdicts."""
REMEMBERED = 4096
"""Pairs whose numbers are kept: every baseline of a page asks for some of the same."""

Rights = NDArray[np.bool_]


class Pair(NamedTuple):
    """Outcomes of two models on the same images: the four cells of the table.

    Attributes:
        both: images that both have right.
        only_first: images that only the first has right.
        only_second: images that only the second has right.
        neither: images that both have wrong.
    """

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def images(self) -> int:
        """All images."""
        return sum(self)

    @property
    def difference(self) -> float:
        """Accuracy of the second minus the first's, a share in [-1, 1]; NaN without images."""
        return (self.only_second - self.only_first) / self.images if self.images else float("nan")


def count_pair(first: Rights, second: Rights) -> Pair:
    """Count the outcomes of two models.

    Args:
        first: whether the first model is right, per image.
        second: the same of the second, images in the same order.

    Raises:
        ValueError: other numbers of images.
    """
    if first.shape != second.shape:
        raise ValueError(f"{first.size} and {second.size} images are not pairs")
    cells = np.bincount(2 * first.astype(np.int64) + second, minlength=4)
    neither, only_second, only_first, both = (int(count) for count in cells)
    return Pair(both, only_first, only_second, neither)


@lru_cache(maxsize=REMEMBERED)
def mcnemar(pair: Pair) -> float:
    """Two-sided p value of McNemar's exact test (McNemar 1947, Psychometrika 12).

    Under the hypothesis that neither model is better, each image on which they disagree is a fair
    coin: the binomial test of ``only_first`` among the discordant images. 1 where there are none.
    """
    discordant = pair.only_first + pair.only_second
    if discordant == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(pair.only_first, discordant, 0.5).pvalue)


@lru_cache(maxsize=REMEMBERED)
def difference_interval(
    pair: Pair, *, seed: int, level: float = 0.95, draws: int = DRAWS
) -> Interval:
    """Percentile bootstrap interval of `Pair.difference` over images (Efron 1979), seeded.

    Resampling images with replacement only changes how many fall into each cell, so the samples
    are drawn as multinomial counts. Where no image is discordant every sample would say 0 exactly;
    the interval is then the exact one of the share of discordant images (Clopper and Pearson 1934
    with 0 successes), to both sides.

    Args:
        pair: outcomes.
        seed: of the resampling.
        level: confidence level in (0, 1).
        draws: number of samples.

    Returns:
        Bounds in [-1, 1]; all of it without images.
    """
    if pair.images == 0:
        return Interval(-1.0, 1.0)
    tail = (1 - level) / 2
    if pair.only_first + pair.only_second == 0:
        reach = 1 - tail ** (1 / pair.images)
        return Interval(-reach, reach)
    generator = np.random.default_rng([seed, *pair])
    shares = np.array([pair.only_first, pair.only_second, pair.both + pair.neither]) / pair.images
    counts = generator.multinomial(pair.images, shares, size=draws)
    low, high = np.quantile((counts[:, 1] - counts[:, 0]) / pair.images, [tail, 1 - tail])
    return Interval(float(low), float(high))


def holm(p_values: Sequence[float]) -> list[float]:
    """P values adjusted for a family of tests by Holm's step-down method (Holm 1979).

    An adjusted value below 0.05 keeps the chance of any false claim in the whole family below 5 %,
    however the tests depend on each other.

    Args:
        p_values: of the family, each in [0, 1].

    Returns:
        Adjusted values in the same order, at most 1.
    """
    p = np.asarray(p_values, float)
    order = np.argsort(p, kind="stable")
    scaled = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(scaled, 1.0)
    return [float(value) for value in adjusted]
