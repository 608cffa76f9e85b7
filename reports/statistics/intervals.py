"""Confidence intervals of a proportion and of a median."""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Interval(NamedTuple):
    """Lower and upper bound."""

    low: float
    high: float


def wilson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927), as shares in [0, 1].

    Args:
        successes: number of hits, 0 to trials.
        trials: number of attempts; with none the interval is all of [0, 1].
        level: confidence level in (0, 1).

    Raises:
        ValueError: counts that are impossible.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is not a count of successes")
    if trials == 0:
        return Interval(0.0, 1.0)
    from scipy.special import ndtri

    z = float(ndtri(0.5 + 0.5 * level))
    share, twice = successes / trials, 2 * (trials + z**2)
    centre = (2 * trials * share + z**2) / twice
    half = z / twice * sqrt(4 * trials * share * (1 - share) + z**2)
    low, high = centre - half, centre + half
    return Interval(low if successes else 0.0, high if successes < trials else 1.0)


def wilson_band(
    successes: NDArray[np.int64], trials: int, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As `wilson`, of many proportions of one number of trials at once: lower and upper bounds.

    Args:
        successes: numbers of hits, each 0 to trials.
        trials: number of attempts, at least 1.
        level: confidence level in (0, 1), of each interval alone.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    share = successes / trials
    centre = share + z**2 / (2 * trials)
    half = z * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    low, high = ((centre + side * half) / (1 + z**2 / trials) for side in (-1, 1))
    return np.where(successes == 0, 0.0, low), np.where(successes == trials, 1.0, high)


def median_interval(values: NDArray[np.float64], level: float = 0.95) -> Interval:
    """Interval of the median from order statistics, which assumes nothing of the distribution.

    Args:
        values: at least one, ascending; infinite ones are the largest.
        level: confidence level in (0, 1), which is reached at least. Few values allow no bound:
            0 and infinity.
    """
    from scipy.special import bdtr  # scipy.stats takes half a second to load

    at_most = bdtr(np.arange(len(values) + 1), len(values), 0.5)
    rank = int(np.searchsorted(at_most, (1 - level) / 2))
    if rank == 0:
        return Interval(0.0, float("inf"))
    return Interval(float(values[rank - 1]), float(values[-rank]))
