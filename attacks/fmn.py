"""Fast minimum-norm attack: the distance to the nearest adversarial example, not one budget."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.gradient import eval_mode, gradient_or_zero, mean_of_draws
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.distances import length
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import ThreatModel

from .declaration import attack
from .l2 import shortened, unit_direction
from .spsa import margin

STEPS = 100
BISECTIONS = 10
"""Halvings of the segment between the image and the example that the steps found."""
STEP_SIZES = (1.0, 0.01)
"""Length of the first step and of the last, in the L2 norm of the pixels."""
SHRINKING = (0.05, 0.001)
"""Share by which the ball shrinks or grows after the first step and after the last."""


class _Margin(NamedTuple):
    """Logit of the true class less the largest other one (N,), and its gradient at the pixels."""

    value: Tensor
    gradient: Tensor

    @classmethod
    def at(cls, model: nn.Module, x: Tensor, y: Tensor) -> "_Margin":
        """Of the network at some pixels."""

        def draw() -> _Margin:
            leaf = x.detach().requires_grad_()
            with torch.enable_grad():
                value = -margin(model(leaf), y)
                gradient = gradient_or_zero(value.sum(), leaf)
            return cls(value.detach(), gradient)

        return mean_of_draws(model, draw)


class _Nearest(NamedTuple):
    """The nearest adversarial example of each image so far, the image itself where none is known.

    Attributes:
        pixels: (N, 3, H, W).
        distance: (N,), float64; infinite where none is known.
    """

    pixels: Tensor
    distance: Tensor

    def or_nearer(self, pixels: Tensor, distance: Tensor, wrong: Tensor) -> "_Nearest":
        """Keep these pixels where the network is wrong on them and they lie nearer."""
        nearer = wrong & (distance < self.distance)
        return _Nearest(
            torch.where(_column(nearer), pixels, self.pixels),
            torch.where(nearer, distance, self.distance),
        )


def fmn_sweep(
    batch: AttackBatch,
    budgets: Sequence[Fraction],
    *,
    threat: ThreatModel,
    settings: Mapping[str, Any],
) -> Iterator[Tensor]:
    """The nearest examples in the threat model's norm, once: there is no budget."""
    for _ in budgets:
        yield fmn(batch.model, batch.x, batch.y, norm=threat.norm, **settings)


@attack(
    "fmn",
    sweep=fmn_sweep,
    unrecorded=("norm",),
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/2102.12827",
    passes=lambda settings: (settings["steps"] + 1 + BISECTIONS, settings["steps"]),
    white_box=True,
    draws=False,
    protocols=("pixel", "l2"),
    about=About("FMN-{steps}", finds_radius=True),
)
def fmn(
    model: nn.Module, x: Tensor, y: Tensor, *, norm: Norm = "linf", steps: int = STEPS
) -> Tensor:
    """Look for the nearest pixels on which the network is wrong (arXiv 2102.12827, algorithm 1).

    Steps down the margin (logit of the true class less the largest other one) inside a ball around
    the image, which shrinks while the network is wrong and grows while it is right, until it
    touches the decision boundary.

    Four things differ from the paper. Until the network is wrong for the first time the ball grows
    to where a linear network would be, as there, but by a thousandth at least: on the boundary
    itself, where the margin is 0 up to rounding, it would never get on. The ball is never larger
    than the farthest valid pixels. The last iterate is scored, too, which the paper's loop makes
    and does not look at. And ten bisections between the image and its example end the search: in
    L2 they often shorten the distance by a tenth or more.

    Nothing is drawn, and each image has a ball of its own: neither the order nor the size of
    batches matters. Costs ``steps + 11`` passes forward and ``steps`` backward an image.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K); its mode, buffers and gradients are
            left as they were.
        x: clean pixels; not changed.
        y: true class indices (N,).
        norm: that distances are measured in: ``linf``, the largest change of a pixel, or ``l2``,
            the Euclidean length of the change.
        steps: number of gradient steps.

    Returns:
        The nearest adversarial pixels that were found, in [0, 1], shaped like x. Where the network
        is wrong on x, and where none were found, they are x.

    Raises:
        BrokenAttackError: a gradient that is not a number.
    """
    x = x.detach()
    with eval_mode(model):
        nearest = _descend(model, x, y, norm, steps)
        return _bisect(model, x, y, norm, nearest).pixels


def _descend(model: nn.Module, x: Tensor, y: Tensor, norm: Norm, steps: int) -> _Nearest:
    farthest = length(torch.maximum(x, 1 - x), norm)
    nearest = _Nearest(x, torch.full_like(farthest, math.inf))
    radius, x_adv = nearest.distance, x
    for step_size, share in zip(_cosine(STEP_SIZES, steps), _cosine(SHRINKING, steps), strict=True):
        at = _Margin.at(model, x_adv, y)
        distance, wrong = length(x_adv - x, norm), at.value < 0
        nearest = nearest.or_nearer(x_adv, distance, wrong)
        beyond = torch.where(
            nearest.distance.isfinite(),
            radius * (1 + share),
            distance + _to_boundary(at, norm).maximum(SHRINKING[1] * distance),
        )
        inside = torch.minimum(radius * (1 - share), nearest.distance)
        radius = torch.where(wrong, inside, beyond).minimum(farthest)
        moved = x_adv - x - step_size * unit_direction(at.gradient)
        x_adv = (x + _projected(moved, radius, norm)).clamp(0, 1)
    return nearest.or_nearer(x_adv, length(x_adv - x, norm), _is_wrong(model, x_adv, y))


def _bisect(model: nn.Module, x: Tensor, y: Tensor, norm: Norm, nearest: _Nearest) -> _Nearest:
    """Halve the segment from the image to its example, ten times, on whichever side is wrong."""
    change = nearest.pixels - x
    right, wrong_at = torch.zeros_like(nearest.distance), torch.ones_like(nearest.distance)
    for _ in range(BISECTIONS):
        share = (right + wrong_at) / 2
        x_adv = (x + _column(share).to(x) * change).clamp(0, 1)
        wrong = _is_wrong(model, x_adv, y)
        nearest = nearest.or_nearer(x_adv, length(x_adv - x, norm), wrong)
        right, wrong_at = torch.where(wrong, right, share), torch.where(wrong, share, wrong_at)
    return nearest


def _cosine(ends: tuple[float, float], steps: int) -> Iterator[float]:
    """From the first value towards the last one along half a cosine, a value a step."""
    first, last = ends
    for step in range(steps):
        yield last + (first - last) * (1 + math.cos(math.pi * step / steps)) / 2


def _is_wrong(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    with torch.no_grad():
        return margin(model(x), y) > 0


def _to_boundary(at: _Margin, norm: Norm) -> Tensor:
    """Distance at which a linear network with this gradient is wrong; infinite without one."""
    flat = at.gradient.flatten(1)
    dual = torch.linalg.vector_norm(flat, 1 if norm == "linf" else 2, 1, dtype=torch.float64)
    return torch.where(dual > 0, at.value.abs() / dual, math.inf)


def _projected(change: Tensor, radius: Tensor, norm: Norm) -> Tensor:
    """The change inside its ball: every pixel cut off, or the whole made shorter."""
    if norm == "linf":
        reach = _column(radius).to(change)
        return change.clamp(-reach, reach)
    return shortened(change, _column(radius))


def _column(values: Tensor) -> Tensor:
    """One value an image (N,), shaped to stand beside pixels (N, 1, 1, 1)."""
    return values.view(-1, 1, 1, 1)
