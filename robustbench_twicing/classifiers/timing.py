"""Times of several ways to do one thing, taken in alternation in one run."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence


def alternate(
    ways: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm_up: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each way, one measurement a round, after rounds that do not count.

    Alternation spreads what else the machine does over all ways alike.

    Args:
        ways: name to what is timed; a way that leaves work behind (on a GPU) must wait for it.
        rounds: measurements of each way.
        warm_up: rounds before them, in which memory, caches and kernels are set up.
        clock: seconds; the wall's, or `time.process_time` for what one thread computes on a machine
            that others use, too.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(warm_up + rounds):
        for name, way in ways.items():
            start = clock()
            way()
            if number >= warm_up:
                seconds[name].append(clock() - start)
    return seconds


def median_ratio(taken: Sequence[float], floor: Sequence[float]) -> float:
    """Median over rounds of (way / floor in the same round), which no slow round disturbs."""
    return statistics.median(way / least for way, least in zip(taken, floor, strict=True))
