"""Whether gradients lead where they point: changes that are measured against predicted ones."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

from ...classifiers.gradient import gradient_or_zero
from .logits import step_of

RANDOM_GRADIENT, BATCH_GRADIENT = "gradient-not-deterministic", "gradient-batch-dependent"
GRADIENT_ROUNDING = 1e-2
"""Part of its length by which two equal gradients may differ."""
MOST_IMAGES = 8
SHORTEST, LONGEST = 0.004 / 255, 1 / 255
"""Steps, in pixels."""
STEPS_OF_FORMAT, TOO_FEW = 200, 20
"""Steps of the logits' number format by which a step should change them, and too few to tell."""
NEAR = (0.75, 1.25)
"""Measured over predicted change along the gradient's sign; honest networks are at 0.9 to 1.01."""
ANYWHERE = (0.3, 3.0)
"""The same at the images themselves, whose equal pixels are kinks where a network takes maxima."""
MISSED = 0.1
"""Part of the changes along random directions that a gradient may leave unexplained."""
BLOCKS = 14
"""Of the random directions, by which a side of the image is divided."""


class _Point(NamedTuple):
    """Images, their gradient, and how the margin of each is read."""

    x: Tensor
    gradient: Tensor
    margin: Callable[[Tensor], Tensor]
    format_step: Tensor


def gradient_flags(model: nn.Module, x: Tensor) -> Iterator[str]:
    """Flags of a network whose gradient is noise, or not that of its answers.

    The margin is the largest logit minus the second: a number that does not saturate, as the loss
    does where the network is sure. Near the images, no pixel is at the end of its range and no two
    are equal, where a gradient is one of several. All changes are central differences.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K), in eval mode.
        x: the first images.
    """
    x = x[:MOST_IMAGES]
    generator = torch.Generator().manual_seed(0)
    dither = (torch.rand(x.shape, generator=generator) - 0.5).to(x)
    try:
        first = _point(model, x)
        near = _point(model, (x + LONGEST * dither).clamp(2 * LONGEST, 1 - 2 * LONGEST))
        alone, repeated = (_point(model, near.x[:1]).gradient for _ in range(2))
    except (Exception, SystemExit):
        return  # every attack that needs the gradient is an error row that says why
    if not _agree(alone, repeated):
        yield RANDOM_GRADIENT
        return
    if not _agree(alone, near.gradient[:1]):
        yield BATCH_GRADIENT
    for point, (low, high) in ((near, NEAR), (first, ANYWHERE)):
        ratio = _along_gradient(model, point)
        if ratio is not None and not low < ratio < high:
            yield f"first-order-{ratio:.2f}"
            return
    missed = _missed(model, near, generator)
    if missed > MISSED:
        yield f"gradient-misses-{100 * missed:.0f}%"


def _agree(gradient: Tensor, other: Tensor) -> bool:
    return bool((gradient - other).norm() <= GRADIENT_ROUNDING * gradient.norm())


def _point(model: nn.Module, x: Tensor) -> _Point:
    leaf = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        logits = model(leaf)
        top = logits.detach().topk(2, 1).indices

        def margin(of: Tensor) -> Tensor:
            chosen = of.gather(1, top)
            return chosen[:, 0] - chosen[:, 1]

        gradient = gradient_or_zero(margin(logits).sum(), leaf)
    return _Point(x, gradient.double(), margin, step_of(logits.detach()).double())


def _along_gradient(model: nn.Module, point: _Point) -> float | None:
    """Measured over predicted change along the gradient's sign, mean over images; None: nothing."""
    slope = point.gradient.abs().flatten(1).sum(1)
    length = _length(point, slope)
    measured = _change(model, point, point.gradient.sign(), length)
    predicted = length * slope
    clear = measured.abs().maximum(predicted) > TOO_FEW * point.format_step
    clear &= slope > 0  # where it is 0, the attacks themselves are flagged
    return float((measured[clear] / predicted[clear]).mean()) if clear.any() else None


def _missed(model: nn.Module, point: _Point, generator: torch.Generator) -> float:
    """Part of the squared changes along random directions that the gradient does not predict.

    Half of the directions have a sign for every pixel, half one for a block of them.
    """
    measured, missed = 0.0, 0.0
    for side in (1, -(-point.x.shape[-1] // BLOCKS)):
        sums = avg_pool2d(point.gradient, side, ceil_mode=True, divisor_override=1)
        signs = (torch.randint(0, 2, sums.shape, generator=generator) * 2.0 - 1).to(sums)
        direction = signs.repeat_interleave(side, 2).repeat_interleave(side, 3)
        direction = direction[:, :, : point.x.shape[2], : point.x.shape[3]]
        typical = sums.flatten(1).norm(dim=1)
        length = _length(point, typical)
        change = _change(
            model, point, direction[:, :, : point.x.shape[2], : point.x.shape[3]], length
        )
        unit = length * typical
        clear = (change.abs().maximum(unit) > TOO_FEW * point.format_step) & (typical > 0)
        predicted = (signs * sums).flatten(1).sum(1) * length
        measured += float((change / unit)[clear].square().sum())
        missed += float(((change - predicted) / unit)[clear].square().sum())
    return min(missed / measured, 1.0) if measured else 0.0


def _length(point: _Point, slope: Tensor) -> Tensor:
    """Of a step (N,), as short as the digits of the logits allow."""
    return (STEPS_OF_FORMAT * point.format_step / slope.clamp(min=1e-300)).clamp(SHORTEST, LONGEST)


def _change(model: nn.Module, point: _Point, direction: Tensor, length: Tensor) -> Tensor:
    """Measured change (N,) of the margin for a step along a direction of signs."""
    step = (length.view(-1, 1, 1, 1) * direction).to(point.x)
    with torch.no_grad():
        up, down = (point.margin(model(point.x + sign * step)).double() for sign in (1, -1))
    return (up - down) / 2
