"""PGD that stops at the first iterate that fools the model: another number than the last one."""

import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import std_of
from robustbench_twicing.classifiers.gradient import eval_mode, logits_and_gradient
from robustbench_twicing.conditions.ball import ball, unit
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.seeds import Generators

from .attacked_label import attacked_label
from .declaration import ALL_PROTOCOLS, attack
from .l2 import projected, unit_direction
from .pgd import REL_STEP, STEPS, start


@attack(
    "pgd-any",
    streams=("pgd", {"random_start": True}),
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/1706.06083",
    passes=lambda settings: (settings["steps"], settings["steps"]),
    white_box=True,
    stops_early=True,
    about=About(iterated=True),
    protocols=ALL_PROTOCOLS,
    notes=(
        "pgd-any stops at the first iterate that fools the model: its accuracy is of images that "
        "are right at every iterate, a lower number than pgd's last iterate.",
    ),
)
def pgd_any(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    threat: ThreatModel = PIXEL,
    steps: int = STEPS,
    rel_step: float = REL_STEP,
    generator: Generators | None = None,
) -> Tensor:
    """PGD per image until the prediction differs from y, the random start included.

    Its accuracy is "right at every iterate", at most that of `pgd`, and cheap where models are
    weak: fooled images leave the batch.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K); left as it was.
        x: clean pixels; not changed.
        y: true class indices (N,); what the score compares with, whatever label is attacked.
        eps: budget in the threat model's space.
        threat: norm and space of the budget, clipping, and the attacked label.
        steps: number of gradient steps at most.
        rel_step: step size as a share of eps.
        generator: one per image, or one for all; needed.

    Returns:
        The first iterate that fools the model, else the last one; shaped like x.

    Raises:
        ValueError: no generator.
    """
    if eps == 0:
        return x.detach().clone()
    low, high = ball(x, eps, threat, std_of(model))
    length = rel_step * eps * unit(x, threat, std_of(model))
    x_adv = start(model, x, eps, threat, generator)
    with eval_mode(model):
        target = attacked_label(model, x, y, threat)
        left = torch.arange(len(x), device=x.device)
        for _ in range(steps):
            logits, gradient = logits_and_gradient(model, x_adv[left], target[left])
            right = logits.argmax(1) == y[left]
            left, gradient = left[right], gradient[right]
            if not len(left):
                break
            if threat.norm == "l2":
                moved = x_adv[left] + rel_step * eps * unit_direction(gradient)
                x_adv[left] = projected(x[left], moved, eps)
            else:
                moved = x_adv[left] + length * gradient.sign()
                x_adv[left] = moved.clamp(low[left], high[left])
    return x_adv
