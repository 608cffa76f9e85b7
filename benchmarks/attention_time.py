"""Averaging once and twice, by itself: explicit, fused, and with the square of A.

    python benchmarks/attention_time.py [--batch 8] [--rounds 15] [--threads N]

Queries, keys and values of DeiT-tiny at 224 px (3 heads, 197 tokens, 64 channels). Forward and the
gradient of all three.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, threads
from robustbench_twicing.classifiers.efficiency import peak_mib
from robustbench_twicing.classifiers.timing import median_ratio
from robustbench_twicing.models.attention import average, average_twice, weights

SHAPE = (3, 197, 64)
CPU = torch.device("cpu")
FLOOR = "once, fused"
Form = Callable[[Tensor, Tensor, Tensor], Tensor]


def with_square(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(2A - A A) v as the formula is printed."""
    a = weights(q, k)
    return (2 * a - a @ a) @ v


FORMS: dict[str, Form] = {
    FLOOR: partial(average, fused=True),
    "once, explicit": partial(average, fused=False),
    "twice, explicit: A v + A (v - A v)": partial(average_twice, fused=False),
    "twice, fused": partial(average_twice, fused=True),
    "twice, explicit: (2A - A A) v": with_square,
}


def measure(*, batch: int = 8, rounds: int = 15) -> Iterator[Table]:
    """One table."""
    inputs = [torch.randn(batch, *SHAPE) for _ in range(3)]
    towards = torch.randn(batch, *SHAPE)

    def gradient(form: Form) -> None:
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        torch.autograd.grad(form(*leaves), leaves, towards)

    ways: dict[str, Callable[[], object]] = {
        name: partial(gradient, form) for name, form in FORMS.items()
    }
    seconds = measured(ways, rounds)
    rows = [
        [name, f"{median_ratio(taken, seconds[FLOOR]):.3f}", f"{peak_mib(ways[name], CPU):.0f}"]
        for name, taken in seconds.items()
    ]
    about = (
        f"{batch} x {' x '.join(map(str, SHAPE))}, forward and gradients, {threads()}, median of "
        f"{rounds}. MiB: tensors alive at once, at the most."
    )
    yield Table("Attention", ["way", f"ratio to {FLOOR}", "MiB"], rows, about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
