"""PGD that stops at the first iterate that fools the model: another number than the last one."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import std_of
from robustbench_twicing.classifiers.gradient import eval_mode, logits_and_gradient
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel, ball, unit
from robustbench_twicing.seeds import Generators

from .attacked_label import attacked_label
from .pgd import REL_STEP, STEPS, start


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
        eps: L-infinity budget in the threat model's space.
        threat: space of the budget, clipping, and the attacked label.
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
            left, sign = left[right], gradient[right].sign()
            if not len(left):
                break
            x_adv[left] = (x_adv[left] + length * sign).clamp(low[left], high[left])
    return x_adv


def pgd_any_sweep(
    batch: AttackBatch,
    budgets: Sequence[Fraction],
    *,
    threat: ThreatModel,
    settings: Mapping[str, Any],
) -> Iterator[Tensor]:
    """At every budget, from the random starts of `pgd` with the same constants."""
    for eps in budgets:
        yield pgd_any(
            batch.model,
            batch.x,
            batch.y,
            eps=float(eps),
            threat=threat,
            generator=batch.generators("pgd", {**settings, "random_start": True}, eps),
            **settings,
        )
