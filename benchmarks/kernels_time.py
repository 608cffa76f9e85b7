"""Forward and forward+backward with torch's own kernels and oneDNN's, and by memory format.

    python benchmarks/kernels_time.py [--batch 8] [--rounds 5] [--threads N]

DeiT-tiny with and without twicing, FAN's hybrid and convolutional networks, random weights. What
`--kernels` does is in `robustbench_twicing.classifiers.kernels.use_onednn`; `--memory-format
channels_last` is torch's.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.model_time import ways
from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, threads
from robustbench_twicing.classifiers.kernels import check_kernels
from robustbench_twicing.classifiers.timing import median_ratio
from robustbench_twicing.errors import UserError

NAMES = ("deit_tiny_patch16_224", "deit_tiny_twicing_patch16_224")
CONVOLUTIONAL = (
    "deit_tiny_patch16_224",
    "fan_tiny_8_p4_hybrid",
    "timm:tf_efficientnet_lite0",
    "timm:resnet50",
)
CPU = torch.device("cpu")


def measure(*, batch: int = 8, rounds: int = 5) -> Iterator[Table]:
    """Two tables; the reason in place of the first, where this torch has no oneDNN."""
    about = f"ms/image, {threads()}, batch {batch}, median of {rounds}."
    try:
        check_kernels("onednn", CPU)
    except UserError as error:
        yield Table("Kernels", [], [], f"Skipped: {error}.")
    else:
        choices = {"plain": {"kernels": "plain"}, "onednn": {"kernels": "onednn"}}
        yield _table("Kernels", NAMES, choices, batch, rounds, about)
    formats = {name: {"memory_format": name} for name in ("contiguous", "channels_last")}
    yield _table("Memory format", CONVOLUTIONAL, formats, batch, rounds, about)


def _table(
    title: str,
    names: Sequence[str],
    choices: Mapping[str, Mapping[str, Any]],
    batch: int,
    rounds: int,
    about: str,
) -> Table:
    rows = [row for name in names for row in _rows(name, choices, batch, rounds)]
    return Table(title, ["model", "pass", *choices, "ratio"], rows, about)


def _rows(
    name: str, choices: Mapping[str, Mapping[str, Any]], batch: int, rounds: int
) -> Iterator[list[str]]:
    built = {choice: ways(name, batch, CPU, **how) for choice, how in choices.items()}
    for index, title in enumerate(("forward", "forward and gradient of the input")):
        seconds = measured({choice: both[index] for choice, both in built.items()}, rounds)
        times = [f"{1000 * median(taken) / batch:.1f}" for taken in seconds.values()]
        first, second = seconds.values()
        yield [name, title, *times, f"{median_ratio(second, first):.3f}"]


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
