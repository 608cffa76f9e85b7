"""How a network is computed: by torch's own kernels, oneDNN's linear layers, or compiled.

The numbers are the same but for rounding.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import torch
from timm.layers.mlp import Mlp
from torch import Tensor, nn
from torch._dynamo.exc import TorchDynamoException
from torch.nn.functional import linear

from ..errors import UserError
from ..registry import unknown
from .classifier import Classifier

Kernels = Literal["plain", "onednn", "compiled"]
MEMORY_FORMATS = ("contiguous", "channels_last")


def check_kernels(kernels: str, device: torch.device) -> str:
    """The kernels asked for: ``plain``, torch's choice, ``onednn``, or ``compiled``.

    Raises:
        UserError: an unknown name, or oneDNN where torch has none or the model is on a GPU.
    """
    if kernels not in get_args(Kernels):
        raise unknown("--kernels", kernels, get_args(Kernels))
    if kernels == "onednn" and not (device.type == "cpu" and has_onednn()):
        raise UserError(
            f"--kernels onednn is for the CPU, with a torch that has oneDNN; this is {device} and "
            f"torch {torch.__version__}; use plain"
        )
    return kernels


def describe_kernels(models: Iterable[Classifier]) -> str:
    """How networks are computed, which changes no more than rounding."""
    settings = {_kernels_of(model.record.details) for model in models}
    return ", ".join(sorted(text for text in settings if text))


def _kernels_of(details: Mapping[str, Any]) -> str:
    attention = details.get("sizes", {}).get("attention", "auto")
    names = [str(details.get(name, "")) for name in ("kernels", "memory_format")]
    return " ".join([*names, *([f"{attention} attention"] if attention != "auto" else [])]).strip()


def check_memory_format(memory_format: str) -> str:
    """The memory format asked for.

    Raises:
        UserError: an unknown name.
    """
    if memory_format not in MEMORY_FORMATS:
        raise unknown("--memory-format", memory_format, MEMORY_FORMATS)
    return memory_format


def has_onednn() -> bool:
    """Whether this torch was built with oneDNN and offers its linear layer."""
    return torch.backends.mkldnn.is_available() and hasattr(  # type: ignore[no-untyped-call]
        torch.ops.mkldnn, "_linear_pointwise"
    )


def use_compiled(classifier: Classifier) -> None:
    """Let a network run as `torch.compile` translates it; names and tensors stay.

    It is compiled at once, for passes with and without a gradient and any number of images.

    Raises:
        UserError: torch cannot compile it here.
    """
    network, side = classifier.network, classifier.preprocessing.crop
    network.compile()
    try:
        for gradient in (False, True):
            x = torch.zeros(2, 3, side, side, device=classifier.device, requires_grad=gradient)
            torch._dynamo.mark_dynamic(x, 0)
            with torch.set_grad_enabled(gradient):
                logits = network(x)
            if gradient:
                torch.autograd.grad(logits.sum(), x)
    except (RuntimeError, TorchDynamoException) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"--compile: torch {torch.__version__} cannot compile {classifier.record.model} here "
            f"({reason}); on a CPU it needs a C++ compiler, like g++; leave --compile out"
        ) from error


def use_onednn(network: nn.Module) -> None:
    """Let the linear layers of a frozen network compute in oneDNN; names and tensors stay.

    In timm's MLP the exact GELU is part of the linear layer before it where no gradient is wanted.
    Under autocast, in other number formats, on other devices, and where their weights want a
    gradient, the layers compute as before. Layers of a subclass are left alone.
    """
    for module in network.modules():
        if type(module) is nn.Linear:
            module.__class__ = OneDnnLinear
        elif type(module) is Mlp and _fuses(module):
            module.__class__ = OneDnnMlp


class OneDnnLinear(nn.Linear):
    """`nn.Linear` with oneDNN's kernel."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        weight, bias = self.weight, self.bias
        if _needs_torch(input, weight, bias):
            return linear(input, weight, bias)
        if input.requires_grad and torch.is_grad_enabled():
            out: Tensor = _Linear.apply(input, weight, bias)
            return out
        return _pointwise(input, weight, bias)


class OneDnnMlp(Mlp):
    """timm's MLP with the exact GELU, in one kernel with `fc1` where no gradient is wanted."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        weight, bias = self.fc1.weight, self.fc1.bias
        if (x.requires_grad and torch.is_grad_enabled()) or _needs_torch(x, weight, bias):
            hidden = self.act(self.fc1(x))
        else:
            hidden = _pointwise(x, weight, bias, "gelu", "none")
        out: Tensor = self.drop2(self.fc2(self.norm(self.drop1(hidden))))
        return out


class _Linear(torch.autograd.Function):
    """The kernel has no derivative of its own; that of the input is the same kernel again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """(..., in) to (..., out)."""
        ctx.save_for_backward(weight)
        return _pointwise(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """(..., out) to (..., in)."""
        (weight,) = ctx.saved_tensors
        return _pointwise(gradient, weight.t(), None), None, None


def _pointwise(
    x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none", algorithm: str = ""
) -> Tensor:
    operator = torch.ops.mkldnn._linear_pointwise
    out: Tensor = operator(x.contiguous(), weight, bias, activation, [], algorithm)
    return out


def _needs_torch(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    frozen = not (weight.requires_grad or (bias is not None and bias.requires_grad))
    fits = x.device.type == weight.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    return not (frozen and fits) or x.numel() == 0 or torch.is_autocast_enabled("cpu")


def _fuses(mlp: Mlp) -> bool:
    linear_first = type(mlp.fc1) in (nn.Linear, OneDnnLinear)
    return linear_first and type(mlp.act) is nn.GELU and mlp.act.approximate == "none"
