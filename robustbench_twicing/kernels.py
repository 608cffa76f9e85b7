"""fp32 linear layers in oneDNN, GELU in the same pass where no gradient is wanted.

The results differ from torch's own by rounding. The gain is a few percent on the processor it was
measured on; `benchmarks/pgd_time.py` and `benchmarks/spsa_time.py` show it on the machine at hand.
"""

from pathlib import Path
from typing import Any, Literal, get_args

import torch
from timm.layers.mlp import Mlp
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from .errors import UserError

Kernels = Literal["auto", "plain", "onednn"]
_CPU_INFO = Path("/proc/cpuinfo")


def choose_kernels(asked: str, device: torch.device) -> str:
    """``plain`` or ``onednn``; ``auto`` is onednn on the kind of processor that gained by it.

    That is an AMD processor with AVX-512, for a model on the CPU.

    Raises:
        UserError: an unknown name, or oneDNN where torch has none or the model is on a GPU.
    """
    if asked not in get_args(Kernels):
        raise UserError(f"--kernels {asked!r} is unknown; it is {', '.join(get_args(Kernels))}")
    possible = device.type == "cpu" and _has_onednn()
    if asked == "onednn" and not possible:
        raise UserError(
            f"--kernels onednn is for the CPU, with a torch that has oneDNN; this is {device} and "
            f"torch {torch.__version__}; use auto or plain"
        )
    if asked == "auto":
        return "onednn" if possible and _gains() else "plain"
    return asked


def use_onednn(network: nn.Module) -> None:
    """Let every `nn.Linear` of a network compute in oneDNN; names and tensors stay.

    The first layer of timm's MLP takes over the exact GELU that follows it. Layers of a subclass
    are left alone, and every layer computes as before under autocast, in other number formats, on
    other devices, and where its weights want a gradient.
    """
    for module in network.modules():
        if type(module) is Mlp and type(module.fc1) is nn.Linear and _is_exact_gelu(module.act):
            module.fc1.__class__ = OneDnnLinearGelu
            module.act = nn.Identity()
    for module in network.modules():
        if type(module) is nn.Linear:
            module.__class__ = OneDnnLinear


class OneDnnLinear(nn.Linear):
    """`nn.Linear` with another kernel."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        if _plain(input, self.weight, self.bias):
            return linear(input, self.weight, self.bias)
        if input.requires_grad and torch.is_grad_enabled():
            out: Tensor = _Linear.apply(input, self.weight, self.bias)
            return out
        return _pointwise(input, self.weight, self.bias, "none")


class OneDnnLinearGelu(OneDnnLinear):
    """A linear layer and the exact GELU after it; one kernel where no gradient is wanted."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        wants_gradient = input.requires_grad and torch.is_grad_enabled()
        if wants_gradient or _plain(input, self.weight, self.bias):
            return gelu(super().forward(input))
        return _pointwise(input, self.weight, self.bias, "gelu")


class _Linear(torch.autograd.Function):
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


def _plain(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    frozen = not (weight.requires_grad or (bias is not None and bias.requires_grad))
    fits = x.device.type == weight.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    return not (frozen and fits) or x.numel() == 0 or torch.is_autocast_enabled("cpu")


def _is_exact_gelu(module: nn.Module) -> bool:
    return type(module) is nn.GELU and module.approximate == "none"


def _has_onednn() -> bool:
    return torch.backends.mkldnn.is_available() and hasattr(  # type: ignore[no-untyped-call]
        torch.ops.mkldnn, "_linear_pointwise"
    )


def _gains() -> bool:
    """AMD with AVX-512, as read from the system; elsewhere no gain was measured."""
    try:
        about = _CPU_INFO.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False  # not Linux: nothing is known of it
    return "AuthenticAMD" in about and torch.backends.cpu.get_cpu_capability() == "AVX512"
