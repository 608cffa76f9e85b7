"""Confidence intervals of a proportion."""

from typing import NamedTuple


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
    from scipy.stats import binomtest

    interval = binomtest(successes, trials).proportion_ci(level, method="wilson")
    return Interval(float(interval.low), float(interval.high))
