"""Fast gradient sign method."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from torch import Tensor, nn

from robustbench_twicing.attack_batch import AttackBatch
from robustbench_twicing.gradient import eval_mode, input_gradient
from robustbench_twicing.seeds import Generators
from robustbench_twicing.threat import PIXEL, ThreatModel, ball


def fgsm(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    threat: ThreatModel = PIXEL,
    generator: Generators | None = None,
) -> Tensor:
    """One step of size eps along the sign of the loss gradient (arXiv 1412.6572, section 4).

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K); its mode, buffers and gradients are
            left as they were.
        x: clean pixels; not changed.
        y: true class indices (N,).
        eps: L-infinity budget.
        threat: space of the budget and whether to clip to [0, 1].
        generator: not used; every attack takes one.

    Returns:
        Adversarial pixels, shaped like x.
    """
    with eval_mode(model):
        return step(x, input_gradient(model, x, y), eps, threat)


def step(x: Tensor, gradient: Tensor, eps: float, threat: ThreatModel) -> Tensor:
    """Move x by eps along the gradient's sign, inside the ball."""
    low, high = ball(x, eps, threat)
    return (x + eps * gradient.sign()).clamp(low, high)


def fgsm_sweep(
    batch: AttackBatch,
    budgets: Sequence[Fraction],
    *,
    threat: ThreatModel,
    settings: Mapping[str, Any],
) -> Iterator[Tensor]:
    """FGSM at every budget from one gradient, that of the clean pass itself."""
    for eps in budgets:
        yield step(batch.x, batch.gradient, float(eps), threat)
