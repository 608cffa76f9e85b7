"""Number formats: what a device would choose by itself, and passes in a shorter one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn

from ..errors import UserError

Precision = Literal["fp32", "tf32", "bf16", "fp16"]
"""Of the passes of a network: all of fp32; fp32 whose factors are rounded to TF32's ten bits of
mantissa in matrix products and convolutions, on a GPU; or autocast to a shorter format."""
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
AMPERE = (8, 0)
"""The first GPUs that have TF32, by CUDA's capability."""
FP16_LOGIT_GRADIENT = 256.0
"""Largest gradient of an image's logits in an fp16 backward pass. fp16 ends at 65,504; below 6e-5
it loses digits, and below 6e-8 everything."""


@contextmanager
def full_fp32(device: torch.device) -> Iterator[None]:
    """Convolutions on CUDA in full fp32 inside, as matrix products are.

    By torch's default cuDNN may round the factors of fp32 convolutions to TF32's ten bits of
    mantissa, which is the number format neither of a score nor of ``--attack-precision fp32``.
    """
    if device.type != "cuda":
        yield
        return
    with _tf32(convolutions=False, products=torch.backends.cuda.matmul.allow_tf32):
        yield


@contextmanager
def in_tf32() -> Iterator[None]:
    """Matrix products and convolutions on CUDA in TF32 inside."""
    with _tf32(convolutions=True, products=True):
        yield


@contextmanager
def _tf32(*, convolutions: bool, products: bool) -> Iterator[None]:
    cudnn, cublas = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, cublas.allow_tf32
    cudnn.allow_tf32, cublas.allow_tf32 = convolutions, products
    try:
        yield
    finally:
        cudnn.allow_tf32, cublas.allow_tf32 = before


def check_precision(precision: str, device: torch.device) -> None:
    """Whether a device computes in a number format.

    Raises:
        UserError: TF32 on a CPU, or on a GPU that has none.
    """
    if precision != "tf32":
        return
    if device.type != "cuda":
        raise UserError(
            f"--attack-precision tf32 is a number format of NVIDIA's GPUs, and the device is "
            f"{device.type}; give fp32 or bf16, or --device cuda"
        )
    if torch.cuda.get_device_capability(device) < AMPERE:
        raise UserError(
            f"--attack-precision tf32 needs a GPU of the Ampere generation or a later one, not "
            f"{torch.cuda.get_device_name(device)}; give fp32 or fp16"
        )


def in_short_format(network: nn.Module, x: Tensor, dtype: torch.dtype) -> object:
    """What the network returns for x under autocast, as float32 where it is a tensor.

    A confident network's loss has gradients that fp16 rounds to zero, so that an attack would not
    move. In fp16 each image's backward pass is therefore scaled, from its logits to x, as
    mixed-precision training scales its loss; x's gradient has the scale taken out again.

    Args:
        network: images to logits, each image by itself.
        x: images (N, 3, H, W), float32.
        dtype: bfloat16 or float16.
    """
    scale = _GradientScale()
    scaled = dtype == torch.float16 and torch.is_grad_enabled() and x.requires_grad
    inside = x
    if scaled:
        inside = x.view_as(x)
        inside.register_hook(scale.take_out)  # type: ignore[no-untyped-call]
    with torch.autocast(x.device.type, dtype):
        logits = network(inside)
    if not isinstance(logits, Tensor):
        return logits
    logits = logits.float()
    if scaled and logits.requires_grad:
        logits = logits.view_as(logits)
        logits.register_hook(scale.put_in)  # type: ignore[no-untyped-call]
    return logits


class _GradientScale:
    """One factor an image, from its logits' gradient; set and used within one backward pass."""

    def __init__(self) -> None:
        self._factor = torch.ones(())

    def put_in(self, gradient: Tensor) -> Tensor:
        largest = gradient.abs().flatten(1).amax(1)
        factor = (FP16_LOGIT_GRADIENT / largest).clamp(max=2.0**100)
        self._factor = torch.where(largest > 0, factor, 1.0)
        return gradient * self._factor.view(-1, *[1] * (gradient.ndim - 1))

    def take_out(self, gradient: Tensor) -> Tensor:
        return gradient / self._factor.view(-1, *[1] * (gradient.ndim - 1))
