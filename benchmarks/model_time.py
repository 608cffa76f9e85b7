"""Forward and forward+backward of DeiT-tiny and FAN-tiny, as they are and with twicing.

And of the first model in fresh processes, with and without memory that is kept between batches.

    python benchmarks/model_time.py [--batch 8] [--rounds 5] [--threads N] [--attention auto]
                                    [--kernels plain] [--device cpu] [--model NAME ...]

Backward is the gradient with respect to the input on frozen parameters, as attacks take it. Random
weights: the time does not depend on them. Ratios are to the first model.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.table import Table, show
from benchmarks.timing import measured, ratio_table, set_up, threads
from robustbench_twicing import load_model
from robustbench_twicing.classifiers.device import keep_memory
from robustbench_twicing.classifiers.timing import alternate
from robustbench_twicing.models.facts import model_facts

BATCHES = 5
"""Batches of a process of its own."""
NAMES = (
    "deit_tiny_patch16_224",
    "deit_tiny_twicing_patch16_224",
    "fan_tiny_12_p16_224",
    "fan_tiny_12_p16_224_twicing",
)


def ways(
    name: str, batch: int, device: torch.device, **how: Any
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Forward alone, and forward with the gradient of the input; `how` is for `load_model`."""
    model = load_model(name, "random:0", device=device, **how)
    side = model.preprocessing.crop
    x = torch.rand(batch, 3, side, side, device=device)

    def finish() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    def forward() -> None:
        with torch.no_grad():
            model(x)
        finish()

    def gradient() -> None:
        leaf = x.clone().requires_grad_()
        torch.autograd.grad(model(leaf).sum(), leaf)
        finish()

    return forward, gradient


def measure(
    *,
    batch: int = 8,
    rounds: int = 5,
    names: Sequence[str] = NAMES,
    attention: str = "auto",
    kernels: str = "plain",
    device: torch.device | None = None,
) -> Iterator[Table]:
    """Multiply-adds, then one table for forward and one for forward+backward."""
    where = device or torch.device("cpu")
    built = {name: ways(name, batch, where, attention=attention, kernels=kernels) for name in names}
    gmacs = [[name, f"{model_facts(name).gmacs:.4f}"] for name in names]
    yield Table("Multiply-adds", ["model", "GMACs"], gmacs, "Of one image, attention explicit.")
    about = (
        f"{where}, {threads()}, batch {batch}, attention {attention}, kernels {kernels}, "
        f"median of {rounds}."
    )
    for title, index in (("Forward pass", 0), ("Forward pass and gradient of the input", 1)):
        timed = {name: both[index] for name, both in built.items()}
        seconds = measured(timed, rounds) if where.type == "cpu" else alternate(timed, rounds)
        yield ratio_table(title, seconds, names[:1], images=batch, about=about)
    if where.type == "cpu":
        yield _kept_memory(names[0], batch, rounds)


def _kept_memory(name: str, batch: int, rounds: int) -> Table:
    """It cannot be taken back within a process, so that every measurement has one of its own."""
    taken: dict[str, list[float]] = {"given back": [], "kept": []}
    for _ in range(rounds):
        for way, seconds in taken.items():
            seconds.append(_in_a_process(name, batch, kept=way == "kept"))
    about = f"{name}, {threads()}, forward pass and gradient, batch {batch}, median of {rounds}."
    return ratio_table("Memory between batches", taken, ("given back",), images=batch, about=about)


def _in_a_process(name: str, batch: int, *, kept: bool) -> float:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_gradient_seconds, name, batch, torch.get_num_threads(), kept).result()


def _gradient_seconds(name: str, batch: int, threads: int, kept: bool) -> float:
    """Median of a few batches, after a first one."""
    set_up(threads)
    if kept:
        keep_memory()
    _, gradient = ways(name, batch, torch.device("cpu"))
    return median(measured({name: gradient}, BATCHES)[name])


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--attention", default="auto", choices=["auto", "explicit", "fused"])
    parser.add_argument("--kernels", default="plain", choices=["plain", "onednn"])
    parser.add_argument("--device", default="cpu", type=torch.device)
    parser.add_argument("--model", action="append", metavar="NAME", help="repeat; the first is 1")
    asked = vars(parser.parse_args())
    set_up(asked.pop("threads"))
    names = asked.pop("model") or NAMES
    show(measure(names=names, **asked))


if __name__ == "__main__":
    main()
