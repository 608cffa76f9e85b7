"""What each lever of `eval` gives on a device: images a second, and hours for 50,000 images.

    python -m benchmarks.gpu [--model NAME] [--device auto] [--batch 0] [--rounds 5]

A batch of 0 is what `--batch-size auto` takes. Random weights and images, on which the time does
not depend. It is written for a GPU, and runs on a CPU, too, without what a CPU does not have.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

import torch

from attacks import ATTACKS, pgd, spsa
from benchmarks.sweep_time import BUDGETS
from benchmarks.table import Table, show
from benchmarks.timing import arguments, threads
from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.device import choose_device, device_name
from robustbench_twicing.classifiers.efficiency import fitting_batch
from robustbench_twicing.classifiers.gradient import input_gradient
from robustbench_twicing.classifiers.kernels import Kernels
from robustbench_twicing.classifiers.precision import (
    Precision,
    check_precision,
    full_fp32,
)
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.threat_model import PIXEL
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.facts import count_gmacs

EPS, MOST, IMAGES = 4 / 255, 512, 50_000
STEPS, SAMPLES = 40, 128
"""Of SPSA, whose time is that of fewer probes, taken so many times as they are fewer."""
SHORT = 8
SIDE = 2048
"""Of the matrices whose product shows what the device computes at best."""


class Lever(NamedTuple):
    """A way to compute, as `eval` is asked for it."""

    name: str
    precision: Precision = "fp32"
    kernels: Kernels = "plain"
    memory_format: str = "contiguous"


LEVERS = (
    Lever("none: fp32, plain kernels"),
    Lever("--memory-format channels_last", memory_format="channels_last"),
    Lever("--kernels onednn", kernels="onednn"),
    Lever("--attack-precision tf32", "tf32"),
    Lever("--attack-precision bf16", "bf16"),
    Lever("--attack-precision fp16", "fp16"),
    Lever("--compile", kernels="compiled"),
    Lever("--compile --attack-precision bf16", "bf16", "compiled"),
)


class Clock(NamedTuple):
    """Seconds on a device, whose work is waited for."""

    device: torch.device
    rounds: int

    def seconds(self, work: Callable[[], object]) -> float:
        """Median over rounds, after one that does not count."""
        taken = []
        for _ in range(1 + self.rounds):
            start = time.perf_counter()
            work()
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            taken.append(time.perf_counter() - start)
        return median(taken[1:])

    def peak(self, precision: Precision) -> float:
        """10^12 operations a second of a large matrix product."""
        short = {"bf16": torch.bfloat16, "fp16": torch.float16}
        side = SIDE * (4 if self.device.type == "cuda" else 1)
        factor = torch.rand(side, side, device=self.device).to(short.get(precision))
        return 2 * side**3 / self.seconds(lambda: factor @ factor) / 1e12


def measure(
    *,
    model: str = "deit_tiny_patch16_224",
    device: str = "auto",
    batch: int = 0,
    rounds: int = 5,
) -> Iterator[Table]:
    """One table, a row a lever."""
    where = choose_device(device)
    clock = Clock(where, rounds)
    rows, left_out = [], []
    for lever in LEVERS:
        try:
            check_precision(lever.precision, where)
            classifier = load_model(
                model,
                "random:0",
                device=where,
                kernels=lever.kernels,
                memory_format=lever.memory_format,
            )
        except UserError as error:
            left_out.append(f"{lever.name} is left out: {error}.")
            continue
        with full_fp32(where), classifier.computing_in(lever.precision):
            size = batch or fitting_batch(classifier, MOST)
            rows.append(_row(lever, classifier, clock, size))
    about = (
        f"{model}, {device_name(where)}, {threads()}, median of {rounds}. Images a second of one "
        "gradient, of PGD-20, of FGSM at six budgets; the share of the gradient's operations in "
        "what a product of large matrices in the same number format reaches; and hours for "
        f"{IMAGES:,} images of PGD-20, of FGSM, and of SPSA ({STEPS} steps of {SAMPLES} pairs, "
        f"measured with one step of {SHORT}). {' '.join(left_out)}"
    )
    columns = ["lever", "batch", "gradient/s", "of peak", "PGD-20/s", "FGSM x 6/s"]
    columns += ["PGD-20, h", "FGSM x 6, h", "SPSA, h"]
    yield Table("On a device", columns, rows, about.strip())


def _row(lever: Lever, model: Classifier, clock: Clock, size: int) -> Sequence[str]:
    side = model.preprocessing.crop
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(size, 3, side, side, generator=generator).to(clock.device)
    y = torch.zeros(size, dtype=torch.long, device=clock.device)
    gradient = clock.seconds(partial(input_gradient, model, x, y)) / size
    operations = 2 * 2e9 * count_gmacs(model.network, x[:1])  # forward, and back to the input
    share = operations / gradient / 1e12 / clock.peak(lever.precision)
    few = partial(spsa, eps=EPS, steps=1, samples=SHORT, generator=generator)
    of_spsa = clock.seconds(lambda: few(model, x, y)) / size * STEPS * SAMPLES / SHORT
    of_pgd = clock.seconds(lambda: pgd(model, x, y, eps=EPS, generator=generator)) / size
    of_fgsm = clock.seconds(partial(_sweep, model, x, y, lever.precision)) / size
    rates = [f"{1 / seconds:,.1f}" for seconds in (gradient, of_pgd, of_fgsm)]
    hours = [f"{seconds * IMAGES / 3600:,.2f}" for seconds in (of_pgd, of_fgsm, of_spsa)]
    return [lever.name, str(size), rates[0], f"{share:.0%}", *rates[1:], *hours]


def _sweep(model: Classifier, x: torch.Tensor, y: torch.Tensor, precision: Precision) -> None:
    images = [str(number) for number in range(len(x))]
    batch = AttackBatch(model, x, y, images=images, precision=precision, keep_graph=True)
    batch.logits.argmax(1)
    list(ATTACKS["fgsm"].sweep(batch, BUDGETS, threat=PIXEL, settings={}))


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
