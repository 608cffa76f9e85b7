"""PGD-20 per image over a bare loop of 20 input gradients, with the libraries beside it.

    python benchmarks/pgd_time.py [--batch 8] [--rounds 5] [--threads N]

The floor is what PGD cannot do without: 20 gradients of the loss with respect to the input, on
frozen parameters. DeiT-tiny at 224 px with random weights; the time does not depend on them.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import pgd
from benchmarks.timing import arguments, ratio_table
from robustbench_twicing import load_model
from robustbench_twicing.timing import alternate

EPS, STEPS, REL_STEP = 4 / 255, 20, 0.15


def ways(batch: int) -> dict[str, Callable[[], object]]:
    """The floor, own PGD, and the libraries as they are and as foolbox's users call it."""
    import foolbox
    import torchattacks

    model = load_model("deit_tiny_patch16_224", "random:0")
    x, y = torch.rand(batch, 3, 224, 224), torch.arange(batch)

    def floor() -> None:
        for _ in range(STEPS):
            leaf = x.clone().requires_grad_()
            torch.autograd.grad(cross_entropy(model(leaf), y, reduction="sum"), leaf)

    fast = load_model("deit_tiny_patch16_224", "random:0", kernels="auto")

    def own(chosen: nn.Module = model) -> object:
        return pgd(chosen, x, y, eps=EPS, generator=torch.Generator().manual_seed(0))

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
        "floor: 20 input gradients": floor,
        "attacks.pgd": own,
        f"attacks.pgd, --kernels auto ({fast.record.details['kernels']})": lambda: own(fast),
        "torchattacks.PGD": with_torchattacks,
        "foolbox.LinfPGD, frozen parameters": with_foolbox,
        "foolbox.LinfPGD, as usually called": with_foolbox_unfrozen,
    }


def main() -> None:
    """Measure and print the table."""
    asked = arguments(__doc__, batch=8, rounds=5)
    warnings.filterwarnings("ignore", module="foolbox|eagerpy|torchattacks")
    seconds = alternate(ways(asked.batch), asked.rounds)
    print(f"DeiT-tiny, PGD-20, batch {asked.batch}, {torch.get_num_threads()} threads")
    print(ratio_table(seconds, "floor: 20 input gradients", images=asked.batch))


if __name__ == "__main__":
    main()
