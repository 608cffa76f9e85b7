"""Moves in an L2 ball: along a gradient, back into the ball, to a random point of it.

Lengths are measured in float64: in float32 those of 150,528 numbers are off by up to 1e-5.
"""

import torch
from torch import Tensor

from robustbench_twicing.conditions.distances import length
from robustbench_twicing.seeds import Generators, normal_like, uniform_like


def unit_direction(gradient: Tensor) -> Tensor:
    """Each image's gradient divided by its length; 0 where it is 0, so that nothing moves.

    Nothing is added to the length, which would shorten the steps along small gradients.

    Args:
        gradient: (N, C, H, W).
    """
    norm = lengths(gradient)
    return torch.where(norm > 0, gradient.double() / norm, 0.0).to(gradient)


def shortened(change: Tensor, eps: float | Tensor) -> Tensor:
    """Each image's change, made no longer than the budget.

    Args:
        change: (N, C, H, W).
        eps: L2 budget, or one an image (N, 1, 1, 1); it may be infinite.
    """
    norm = lengths(change)
    return torch.where(norm > eps, eps / norm, 1.0).to(change) * change


def projected(x: Tensor, x_adv: Tensor, eps: float) -> Tensor:
    """Shorten each change to the budget, then clamp to valid pixels, which shortens it further.

    Not the nearest point of both sets, but a point of both, as in AutoAttack and foolbox.

    Args:
        x: clean pixels (N, C, H, W) in [0, 1].
        x_adv: shaped like x.
        eps: L2 budget.
    """
    return (x + shortened(x_adv - x, eps)).clamp(0, 1)


def random_point(x: Tensor, eps: float, generator: Generators) -> Tensor:
    """A uniformly drawn point of each image's ball, clamped to valid pixels.

    Args:
        x: clean pixels (N, C, H, W) in [0, 1].
        eps: L2 budget.
        generator: one per image, or one for all.
    """
    direction = unit_direction(normal_like(x, generator))
    radius = uniform_like(x[:, :1, :1, :1], generator).double() ** (1 / x[0].numel())
    return projected(x, x + (eps * radius).to(x) * direction, eps)


def lengths(change: Tensor) -> Tensor:
    """Euclidean length of each image's change, (N, 1, 1, 1), float64."""
    return length(change, "l2").view(-1, 1, 1, 1)
