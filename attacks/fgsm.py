"""Fast gradient sign method."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import std_of
from robustbench_twicing.classifiers.gradient import eval_mode, input_gradient
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.ball import ball, unit
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.seeds import Generators

from .attacked_label import attacked_label
from .declaration import ALL_PROTOCOLS, attack
from .l2 import projected, unit_direction


def step(
    x: Tensor, gradient: Tensor, eps: float, threat: ThreatModel, std: Tensor | None
) -> Tensor:
    """Move x by eps along the gradient's sign, or in L2 along the gradient, inside the ball.

    The sign is the same in pixels and in normalised units; only the length of the step differs.
    """
    if threat.norm == "l2":
        return projected(x, x + eps * unit_direction(gradient), eps)
    low, high = ball(x, eps, threat, std)
    return (x + eps * unit(x, threat, std) * gradient.sign()).clamp(low, high)


def fgsm_sweep(
    batch: AttackBatch,
    budgets: Sequence[Fraction],
    *,
    threat: ThreatModel,
    settings: Mapping[str, Any],
) -> Iterator[Tensor]:
    """FGSM at every budget from one gradient, that of the clean pass itself."""
    for eps in budgets:
        yield step(batch.x, batch.gradient(threat), float(eps), threat, std_of(batch.model))


@attack(
    "fgsm",
    sweep=fgsm_sweep,
    knowledge="white box, one gradient",
    source="https://arxiv.org/abs/1412.6572",
    passes=lambda settings: (0, 1),
    clean_gradient=lambda settings: True,
    white_box=True,
    draws=False,
    protocols=ALL_PROTOCOLS,
    about=About("FGSM", one_step=True),
)
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

    In L2 it is the fast gradient method: the step is along the gradient itself.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K); its mode, buffers and gradients are
            left as they were. A normalised budget needs a `Classifier`, which knows its std.
        x: clean pixels; not changed.
        y: true class indices (N,).
        eps: budget in the threat model's space.
        threat: norm and space of the budget, clipping, and the attacked label.
        generator: not used; every attack takes one.

    Returns:
        Adversarial pixels, shaped like x.
    """
    with eval_mode(model):
        gradient = input_gradient(model, x, attacked_label(model, x, y, threat))
    return step(x, gradient, eps, threat, std_of(model))
