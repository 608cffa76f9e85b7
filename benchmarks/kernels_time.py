"""Forward and forward+backward with torch's own kernels and with oneDNN's.

    python benchmarks/kernels_time.py [--batch 8] [--rounds 5] [--threads N]

DeiT-tiny with and without twicing, random weights. What `--kernels` does is in
`robustbench_twicing.kernels.use_onednn`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.model_time import ways
from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, threads
from robustbench_twicing.errors import UserError
from robustbench_twicing.kernels import choose_kernels
from robustbench_twicing.timing import median_ratio

NAMES = ("deit_tiny_patch16_224", "deit_tiny_twicing_patch16_224")
CPU = torch.device("cpu")


def measure(*, batch: int = 8, rounds: int = 5) -> Iterator[Table]:
    """One table; or the reason, where this torch has no oneDNN."""
    try:
        choose_kernels("onednn", CPU)
    except UserError as error:
        yield Table("Kernels", [], [], f"Skipped: {error}.")
        return
    rows = [row for name in NAMES for row in _rows(name, batch, rounds)]
    about = f"ms/image, {threads()}, batch {batch}, median of {rounds}."
    yield Table("Kernels", ["model", "pass", "plain", "onednn", "ratio"], rows, about)


def _rows(name: str, batch: int, rounds: int) -> Iterator[list[str]]:
    built = {kernels: ways(name, batch, "auto", kernels, CPU) for kernels in ("plain", "onednn")}
    for index, title in enumerate(("forward", "forward and gradient of the input")):
        seconds = measured({kernels: both[index] for kernels, both in built.items()}, rounds)
        times = [f"{1000 * median(taken) / batch:.1f}" for taken in seconds.values()]
        ratio = median_ratio(seconds["onednn"], seconds["plain"])
        yield [name, title, *times, f"{ratio:.3f}"]


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
