"""What the benchmarks share: their options, and the table of times and ratios."""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from benchmarks.table import Table
from robustbench_twicing.classifiers.timing import alternate, median_ratio


def arguments(about: str | None, defaults: Mapping[str, Any] | None) -> dict[str, Any]:
    """One option for each default, like ``--rounds 5``, and --threads, which is set at once.

    The warnings of other libraries are silenced with it: they are not what is measured.

    Args:
        about: the script's docstring.
        defaults: keyword arguments of its `measure`.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (defaults or {}).items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    parser.add_argument("--threads", type=int, help="CPU threads")
    asked = vars(parser.parse_args())
    set_up(asked.pop("threads"))
    return asked


def set_up(threads: int | None) -> None:
    """Set the CPU threads, where they are given, and silence the other libraries."""
    if threads:
        torch.set_num_threads(threads)
    warnings.filterwarnings("ignore", module="foolbox|eagerpy|torchattacks|cleverhans")


def measured(
    ways: Mapping[str, Callable[[], object]], rounds: int, *, warm_up: int = 1
) -> dict[str, list[float]]:
    """`alternate` for what this process computes on the CPU.

    With one thread by the processor's time, which other programs do not lengthen by taking turns
    with this one; with more by the wall's.
    """
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    return alternate(ways, rounds, warm_up=warm_up, clock=clock)


def threads() -> str:
    """As in "1 thread"."""
    count = torch.get_num_threads()
    return f"{count} thread{'s' * (count != 1)}"


def ratio_table(
    title: str,
    seconds: Mapping[str, list[float]],
    floors: Sequence[str],
    *,
    images: int,
    about: str = "",
) -> Table:
    """Milliseconds per image, median over rounds, and `median_ratio` to each of some ways.

    Args:
        title: heading.
        seconds: way to its times, from `alternate`.
        floors: ways that the others are compared with, a column each.
        images: that one measurement handles.
        about: what was measured.
    """
    rows = []
    for name, taken in seconds.items():
        ratios = [f"{median_ratio(taken, seconds[floor]):.3f}" for floor in floors]
        rows.append([name, f"{1000 * statistics.median(taken) / images:.1f}", *ratios])
    return Table(
        title, ["way", "ms/image", *(f"ratio to {floor}" for floor in floors)], rows, about
    )
