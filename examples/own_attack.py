"""An attack of your own: `--attacks clean,pgd,examples/own_attack.py:blurred_step`."""

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy


def blurred_step(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    generator: torch.Generator,
    width: int = 3,
) -> Tensor:
    """One FGSM step along a smoothed gradient.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K).
        x: clean pixels; must not be changed.
        y: true class indices (N,).
        eps: L-infinity budget in pixels; the result is checked against it.
        generator: for random draws; not needed here.
        width: of the smoothing, in pixels; an odd number. A keyword with a default is a constant
            that `--set` can change and the record keeps.
    """
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(cross_entropy(model(leaf), y, reduction="sum"), leaf)
    smooth = avg_pool2d(gradient, width, stride=1, padding=width // 2)
    return (x + eps * smooth.sign()).clamp(0, 1)
