"""FGSM at six budgets plus the clean pass, against six FGSM calls of torchattacks.

    python benchmarks/sweep_time.py [--batch 8] [--rounds 5] [--threads N]

One gradient serves all budgets, and the clean logits come from its own forward pass. DeiT-tiny at
224 px with random weights; the time does not depend on them. Scoring is left out on both sides.
"""

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import ATTACKS
from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, ratio_table, threads
from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.threat_model import PIXEL

BUDGETS = [Fraction(count, 255) for count in range(1, 7)]
LIBRARY = "6 x torchattacks.FGSM"


def ways(batch: int) -> dict[str, Callable[[], object]]:
    """The same adversarial images from both."""
    import torchattacks

    model = load_model("deit_tiny_patch16_224", "random:0")
    fast = load_model("deit_tiny_patch16_224", "random:0", kernels="onednn")
    x, y = torch.rand(batch, 3, 224, 224), torch.arange(batch)
    images = [str(number) for number in range(batch)]

    def own(chosen: Classifier) -> None:
        attacked = AttackBatch(chosen, x, y, images=images, keep_graph=True)
        attacked.logits.argmax(1)
        list(ATTACKS["fgsm"].sweep(attacked, BUDGETS, threat=PIXEL, settings={}))

    def six_calls() -> None:
        for eps in BUDGETS:
            torchattacks.FGSM(model, eps=float(eps))(x, y)

    name = "sweep of 6 budgets, and clean"
    return {
        name: partial(own, model),
        f"{name}, --kernels onednn": partial(own, fast),
        LIBRARY: six_calls,
    }


def measure(*, batch: int = 8, rounds: int = 5) -> Iterator[Table]:
    """One table."""
    seconds = measured(ways(batch), rounds)
    about = (
        f"DeiT-tiny, FGSM at 1 to 6 over 255, batch {batch}, {threads()}, median of {rounds}. "
        "One gradient serves all budgets, and the clean logits are from its own forward pass."
    )
    yield ratio_table("FGSM over budgets", seconds, (LIBRARY,), images=batch, about=about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
