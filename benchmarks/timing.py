"""Times of several ways to do one thing, taken in alternation in one run."""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping

import torch


def arguments(about: str | None, *, batch: int, rounds: int) -> argparse.Namespace:
    """--batch, --rounds and --threads (set at once), with these defaults."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=batch, help="images a batch")
    parser.add_argument("--rounds", type=int, default=rounds, help="measurements of each way")
    parser.add_argument("--threads", type=int, help="CPU threads")
    asked = parser.parse_args()
    if asked.threads:
        torch.set_num_threads(asked.threads)
    return asked


def alternate(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each way, one measurement a round, after a round that does not count.

    Alternation spreads what else the machine does over all ways alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio_table(seconds: Mapping[str, list[float]], floor: str, *, images: int) -> str:
    """Lines of name, median milliseconds per image, and ratio of medians to ``floor``.

    The ratio is the median over rounds of (way / floor in the same round), which a slow round
    does not disturb.
    """
    lines = [f"{'way':44} {'ms/image':>9} {'ratio':>6}"]
    for name, taken in seconds.items():
        pairs = zip(taken, seconds[floor], strict=True)
        ratio = statistics.median(one / other for one, other in pairs)
        milliseconds = 1000 * statistics.median(taken) / images
        lines.append(f"{name:44} {milliseconds:9.1f} {ratio:6.3f}")
    return "\n".join(lines)
