"""fp32 linear layers in oneDNN, GELU in the same pass where no gradient is wanted."""

from typing import Any

import torch
from timm.layers.mlp import Mlp
from torch import Tensor, nn
from torch.nn.functional import linear


def affine(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`torch.nn.functional.linear`, in oneDNN for frozen fp32 weights on the CPU.

    Elsewhere (under autocast, in other number formats, on other devices, and where the weights want
    a gradient) it is torch's own.

    Args:
        x: (..., in).
        weight: (out, in).
        bias: (out,) or None.

    Returns:
        (..., out).
    """
    if is_plain(x, weight, bias):
        return linear(x, weight, bias)
    if x.requires_grad and torch.is_grad_enabled():
        out: Tensor = _Affine.apply(x, weight, bias)
        return out
    return _pointwise(x, weight, bias, "none")


class OneDnnLinear(nn.Linear):
    """`nn.Linear` with another kernel."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        return affine(input, self.weight, self.bias)


class OneDnnMlp(Mlp):
    """timm's MLP with the exact GELU, in one kernel with `fc1` where no gradient is wanted."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        weight, bias = self.fc1.weight, self.fc1.bias
        if (x.requires_grad and torch.is_grad_enabled()) or is_plain(x, weight, bias):
            hidden = self.act(self.fc1(x))
        else:
            hidden = _pointwise(x, weight, bias, "gelu")
        out: Tensor = self.drop2(self.fc2(self.norm(self.drop1(hidden))))
        return out


def fuses(module: nn.Module) -> bool:
    """Whether a module is timm's MLP of linear layers with the exact GELU."""
    return (
        type(module) is Mlp
        and type(module.fc1) in (nn.Linear, OneDnnLinear)
        and type(module.act) is nn.GELU
        and module.act.approximate == "none"
    )


class _Affine(torch.autograd.Function):
    """The kernel has no derivative of its own; that of the input is the same kernel again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """(..., in) to (..., out)."""
        ctx.save_for_backward(weight)
        return _pointwise(x, weight, bias, "none")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """(..., out) to (..., in)."""
        (weight,) = ctx.saved_tensors
        return _pointwise(gradient, weight.t(), None, "none"), None, None


def _pointwise(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str) -> Tensor:
    algorithm = "none" if activation == "gelu" else ""
    out: Tensor = torch.ops.mkldnn._linear_pointwise(
        x.contiguous(), weight, bias, activation, [], algorithm
    )
    return out


def is_plain(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether torch's own kernel must do it."""
    frozen = not (weight.requires_grad or (bias is not None and bias.requires_grad))
    fits = x.device.type == weight.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    return not (frozen and fits) or x.numel() == 0 or torch.is_autocast_enabled("cpu")
