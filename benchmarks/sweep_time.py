"""FGSM at six budgets plus the clean pass, against six FGSM calls of torchattacks.

    python benchmarks/sweep_time.py [--batch 8] [--rounds 5] [--threads N]

One gradient serves all budgets, and the clean logits come from its own forward pass. DeiT-tiny at
224 px with random weights; the time does not depend on them. Scoring is left out on both sides.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import ATTACKS
from benchmarks.timing import arguments, ratio_table
from robustbench_twicing import load_model
from robustbench_twicing.attack_batch import AttackBatch
from robustbench_twicing.threat import PIXEL
from robustbench_twicing.timing import alternate

BUDGETS = [Fraction(count, 255) for count in range(1, 7)]


def ways(batch: int) -> dict[str, Callable[[], object]]:
    """The same adversarial images from both."""
    import torchattacks

    model = load_model("deit_tiny_patch16_224", "random:0")
    x, y = torch.rand(batch, 3, 224, 224), torch.arange(batch)
    images = [str(number) for number in range(batch)]

    def own() -> None:
        attacked = AttackBatch(model, x, y, images=images, keep_graph=True)
        attacked.logits.argmax(1)
        list(ATTACKS["fgsm"].sweep(attacked, BUDGETS, threat=PIXEL, settings={}))

    def six_calls() -> None:
        for eps in BUDGETS:
            torchattacks.FGSM(model, eps=float(eps))(x, y)

    return {"6 x torchattacks.FGSM": six_calls, "fgsm sweep of 6, and clean": own}


def main() -> None:
    """Measure and print the table."""
    asked = arguments(__doc__, batch=8, rounds=5)
    print(f"DeiT-tiny, batch {asked.batch}, {torch.get_num_threads()} threads")
    seconds = alternate(ways(asked.batch), asked.rounds)
    print(ratio_table(seconds, "6 x torchattacks.FGSM", images=asked.batch))


if __name__ == "__main__":
    main()
