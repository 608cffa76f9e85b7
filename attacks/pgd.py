"""Projected gradient descent."""

from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import std_of
from robustbench_twicing.classifiers.gradient import eval_mode, input_gradient
from robustbench_twicing.conditions.ball import ball, unit
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.seeds import Generators, uniform_like

from .attacked_label import attacked_label
from .declaration import ALL_PROTOCOLS, attack
from .l2 import projected, random_point, unit_direction
from .spec import Settings

STEPS = 20
REL_STEP = 0.15
"""Step size as a share of the budget (the Twicing paper's "step size of 0.15")."""


def _passes(settings: Settings) -> tuple[int, int]:
    """Several restarts are scored once more each."""
    restarts, steps = settings["restarts"], settings["steps"]
    return restarts * (steps + (restarts > 1)), restarts * steps


@attack(
    "pgd",
    settings={"restarts": 1},
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/1706.06083",
    passes=_passes,
    white_box=True,
    contradiction=lambda settings: (
        "restarts without a random start are all the same run; leave one of the two out"
        if settings["restarts"] > 1 and not settings["random_start"]
        else ""
    ),
    shorts={"restarts": "restarts"},
    about=About("PGD-{steps}", iterated=True),
    protocols=ALL_PROTOCOLS,
)
def pgd(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    threat: ThreatModel = PIXEL,
    steps: int = STEPS,
    rel_step: float = REL_STEP,
    random_start: bool = True,
    target: Tensor | None = None,
    generator: Generators | None = None,
) -> Tensor:
    """Climb the cross-entropy inside the ball (arXiv 1706.06083, section 2.1).

    In L2 each step is along the gradient, not its sign, and what leaves the ball is shortened.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K); its mode, buffers and gradients are
            left as they were. A normalised budget needs a `Classifier`, which knows its std.
        x: clean pixels; not changed.
        y: true class indices (N,).
        eps: budget in the threat model's space.
        threat: norm and space of the budget, clipping, and the attacked label.
        steps: number of gradient steps.
        rel_step: step size as a share of eps.
        random_start: start at a uniformly drawn point of the ball instead of at x.
        target: the attacked labels (N,), where they are known; else the threat model's are found.
        generator: one per image, or one for all; needed for a random start.

    Returns:
        The last iterate (not the best one), shaped like x.

    Raises:
        ValueError: a random start without a generator.
    """
    if eps == 0:
        return x.detach().clone()
    first = start(model, x, eps, threat, generator) if random_start else x
    with eval_mode(model):
        if target is None:
            target = attacked_label(model, x, y, threat)
        return ascend(model, x, first, target, eps, threat, steps=steps, rel_step=rel_step)


def start(
    model: nn.Module, x: Tensor, eps: float, threat: ThreatModel, generator: Generators | None
) -> Tensor:
    """A uniformly drawn point of the ball, moved to the nearest valid pixels where it clips.

    Raises:
        ValueError: no generator.
    """
    if generator is None:
        raise ValueError("a random start needs a generator; the global one is never used")
    if threat.norm == "l2":
        return random_point(x, eps, generator)
    reach = eps * unit(x, threat, std_of(model))
    low, high = ball(x, eps, threat, std_of(model))
    return (x + reach * (2 * uniform_like(x, generator) - 1)).clamp(low, high)


def ascend(
    model: nn.Module,
    x: Tensor,
    start: Tensor,
    target: Tensor,
    eps: float,
    threat: ThreatModel,
    *,
    steps: int,
    rel_step: float,
) -> Tensor:
    """Steps up the loss of some classes from a point of the ball, inside it; the last iterate.

    Args:
        model: pixels to logits, in eval mode.
        x: clean pixels, the middle of the ball.
        start: where to start; not changed.
        target: class indices (N,) whose loss is to rise.
        eps: budget in the threat model's space, above 0.
        threat: norm and space of the budget, and clipping.
        steps: how many.
        rel_step: their length as a share of eps; below 0 they go down.
    """
    if threat.norm == "l2":
        return climb_l2(model, x, start, target, eps, length=rel_step * eps, steps=steps)
    bounds = ball(x, eps, threat, std_of(model))
    length = rel_step * eps * unit(x, threat, std_of(model))
    return climb(model, start, target, bounds, length=length, steps=steps)


def climb(
    model: nn.Module,
    x: Tensor,
    target: Tensor,
    bounds: tuple[Tensor, Tensor],
    *,
    length: Tensor,
    steps: int,
) -> Tensor:
    """Signed gradient steps up the loss from x, each clamped to the bounds; the last iterate.

    Args:
        model: pixels to logits, in eval mode.
        x: where to start; not changed.
        target: class indices (N,) whose loss is to rise.
        bounds: lower and upper bound of every pixel.
        length: of a step, in pixels; a scalar or one per channel (C, 1, 1).
        steps: how many.
    """
    x_adv = x.detach().clone()
    for _ in range(steps):
        gradient = input_gradient(model, x_adv, target)
        x_adv = x_adv.addcmul_(gradient.sign(), length).clamp_(*bounds)
    return x_adv


def climb_l2(
    model: nn.Module,
    x: Tensor,
    start: Tensor,
    target: Tensor,
    eps: float,
    *,
    length: float,
    steps: int,
) -> Tensor:
    """Steps along the gradient, each shortened into the L2 ball and clamped; the last iterate.

    Args:
        model: pixels to logits, in eval mode.
        x: clean pixels, the middle of the ball.
        start: where to start; not changed.
        target: class indices (N,) whose loss is to rise.
        eps: L2 budget.
        length: of a step.
        steps: how many.
    """
    x_adv = start
    for _ in range(steps):
        gradient = input_gradient(model, x_adv, target)
        x_adv = projected(x, x_adv + length * unit_direction(gradient), eps)
    return x_adv
