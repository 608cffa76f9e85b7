"""FMN per image over the passes that it cannot do without: 100 input gradients, 11 scores.

    python benchmarks/fmn_time.py [--batch 4] [--rounds 3] [--threads N]

DeiT-tiny at 224 px with random weights; the time does not depend on them.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import fmn
from attacks.fmn import BISECTIONS, STEPS
from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, ratio_table, threads
from robustbench_twicing import load_model

FLOOR = f"{STEPS + 1 + BISECTIONS} passes forward, {STEPS} backward"


def ways(batch: int) -> dict[str, Callable[[], object]]:
    """The floor, and FMN in both norms."""
    model = load_model("deit_tiny_patch16_224", "random:0")
    x = torch.rand(batch, 3, 224, 224)
    with torch.no_grad():
        y = model(x).argmax(1)

    def floor() -> None:
        for _ in range(STEPS):
            leaf = x.clone().requires_grad_()
            torch.autograd.grad(cross_entropy(model(leaf), y, reduction="sum"), leaf)
        with torch.no_grad():
            for _ in range(1 + BISECTIONS):
                model(x)

    return {
        FLOOR: floor,
        "attacks.fmn, linf": partial(fmn, model, x, y, norm="linf"),
        "attacks.fmn, l2": partial(fmn, model, x, y, norm="l2"),
    }


def measure(*, batch: int = 4, rounds: int = 3) -> Iterator[Table]:
    """One table."""
    seconds = measured(ways(batch), rounds)
    about = f"DeiT-tiny, FMN of {STEPS} steps, batch {batch}, {threads()}, median of {rounds}."
    yield ratio_table("FMN", seconds, (FLOOR,), images=batch, about=about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
