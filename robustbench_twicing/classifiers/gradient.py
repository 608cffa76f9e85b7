"""Gradient of the loss with respect to the input, leaving the model as it was found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..errors import BrokenAttackError
from .classifier import Classifier

Draw = TypeVar("Draw", bound=tuple[Tensor, ...])


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Eval mode inside; afterwards every module has the mode it had.

    In train mode BatchNorm would learn from the attacked images and dropout would make the
    gradient random.
    """
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True


def input_gradient(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Gradient of the cross-entropy with respect to x.

    The loss is summed, not averaged, so that no image's gradient depends on its batch, and only
    the input's gradient is computed, so that none is left behind on the parameters.

    Args:
        model: pixels (N, 3, H, W) to logits (N, K).
        x: pixels; not changed.
        y: class indices (N,).

    Returns:
        Gradient, shaped like x.

    Raises:
        BrokenAttackError: a gradient that is not a number.
    """
    return logits_and_gradient(model, x, y).gradient


class LogitsAndGradient(NamedTuple):
    """Logits (N, K) at a point, and the gradient of its loss, shaped like the point."""

    logits: Tensor
    gradient: Tensor


def logits_and_gradient(model: nn.Module, x: Tensor, y: Tensor) -> LogitsAndGradient:
    """`input_gradient`, with the logits of the same forward pass; of several draws their means.

    Raises:
        BrokenAttackError: a gradient that is not a number.
    """

    def draw() -> LogitsAndGradient:
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            logits = model(leaf)
            loss = cross_entropy(logits, y, reduction="sum")
        return LogitsAndGradient(logits.detach(), gradient_or_zero(loss, leaf))

    return mean_of_draws(model, draw)


def mean_of_draws(model: nn.Module, draw: Callable[[], Draw]) -> Draw:
    """What one look at a network gives, or the mean of several where it draws random numbers.

    Expectation over transformation (arXiv 1707.07397); `Classifier.averaging` says how many.

    Args:
        model: any network; one that is no `Classifier` is looked at once.
        draw: a named tuple of tensors, whose entries are averaged one by one.
    """
    total = draw()
    if not isinstance(model, Classifier) or model.expectation == 1:
        return total
    kind = type(total)
    for _ in range(model.expectation - 1):
        total = kind(*(part + more for part, more in zip(total, draw(), strict=True)))
    return kind(*(part / model.expectation for part in total))


def gradient_or_zero(loss: Tensor, leaf: Tensor) -> Tensor:
    """Gradient of the loss at the leaf; zeros where the loss does not depend on it at all.

    A model that rounds its input, or ignores it, has no graph to follow; its gradient is zero,
    which the diagnostics report, and that is not a crash.

    Raises:
        BrokenAttackError: a gradient that is not a number. Its sign would be 0, and an image that
            nobody moved would count as robust.
    """
    if not loss.requires_grad:
        return torch.zeros_like(leaf)
    (gradient,) = torch.autograd.grad(loss, leaf, allow_unused=True, materialize_grads=True)
    if gradient.isnan().any():
        raise BrokenAttackError("the loss's gradient is not a number (NaN)")
    return gradient.as_subclass(Tensor)  # not of the network's own type
