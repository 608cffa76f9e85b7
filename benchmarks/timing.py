"""What the benchmarks share: their options, and the table of times and ratios."""

import argparse
import statistics
from collections.abc import Mapping

import torch

from robustbench_twicing.timing import median_ratio


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


def ratio_table(seconds: Mapping[str, list[float]], floor: str, *, images: int) -> str:
    """Lines of name, median milliseconds per image, and `median_ratio` to ``floor``."""
    lines = [f"{'way':44} {'ms/image':>9} {'ratio':>6}"]
    for name, taken in seconds.items():
        ratio = median_ratio(taken, seconds[floor])
        milliseconds = 1000 * statistics.median(taken) / images
        lines.append(f"{name:44} {milliseconds:9.1f} {ratio:6.3f}")
    return "\n".join(lines)
