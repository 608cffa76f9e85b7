"""PGD-20 per image over a bare loop of 20 input gradients, with the libraries beside it.

    python benchmarks/pgd_time.py [--batch 4] [--rounds 3] [--threads N]

The floor is what PGD cannot do without: 20 gradients of the loss with respect to the input, on
frozen parameters. DeiT-tiny at 224 px with random weights; the time does not depend on them.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import pgd
from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, ratio_table, threads
from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.precision import Precision
from robustbench_twicing.conditions.threat_model import PROTOCOLS

EPS, STEPS, REL_STEP = 4 / 255, 20, 0.15
FLOOR, LIBRARY = "20 input gradients", "torchattacks.PGD"


def ways(batch: int) -> dict[str, Callable[[], object]]:
    """The floor, own PGD, and the libraries as they are and as foolbox's users call it."""
    import foolbox
    import torchattacks

    model = load_model("deit_tiny_patch16_224", "random:0")
    fast = load_model("deit_tiny_patch16_224", "random:0", kernels="onednn")
    x, y = torch.rand(batch, 3, 224, 224), torch.arange(batch)

    def floor() -> None:
        for _ in range(STEPS):
            leaf = x.clone().requires_grad_()
            torch.autograd.grad(cross_entropy(model(leaf), y, reduction="sum"), leaf)

    def own(chosen: Classifier, precision: Precision, protocol: str = "pixel") -> object:
        threat, generator = PROTOCOLS[protocol].threat, torch.Generator().manual_seed(0)
        with chosen.computing_in(precision):
            return pgd(chosen, x, y, eps=EPS, threat=threat, generator=generator)

    def with_torchattacks() -> object:
        attack = torchattacks.PGD(model, eps=EPS, alpha=REL_STEP * EPS, steps=STEPS)
        return attack(x, y)

    def with_foolbox() -> object:
        wrapped = foolbox.PyTorchModel(model, bounds=(0, 1), device="cpu")
        attack = foolbox.attacks.LinfPGD(rel_stepsize=REL_STEP, steps=STEPS)
        return attack(wrapped, x, foolbox.criteria.Misclassification(y), epsilons=EPS)

    def with_foolbox_unfrozen() -> object:
        model.requires_grad_(True)
        try:
            return with_foolbox()
        finally:
            model.requires_grad_(False)

    return {
        FLOOR: floor,
        "attacks.pgd": partial(own, model, "fp32"),
        "attacks.pgd, L2": partial(own, model, "fp32", "l2"),
        "attacks.pgd, --kernels onednn": partial(own, fast, "fp32"),
        "attacks.pgd, --attack-precision bf16": partial(own, fast, "bf16"),
        LIBRARY: with_torchattacks,
        "foolbox.LinfPGD, frozen parameters": with_foolbox,
        "foolbox.LinfPGD, as usually called": with_foolbox_unfrozen,
    }


def measure(*, batch: int = 4, rounds: int = 3) -> Iterator[Table]:
    """One table."""
    seconds = measured(ways(batch), rounds)
    about = f"DeiT-tiny, PGD of {STEPS} steps, batch {batch}, {threads()}, median of {rounds}."
    yield ratio_table("PGD", seconds, (FLOOR, LIBRARY), images=batch, about=about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
