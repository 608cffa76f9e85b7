"""Number formats: what a device would choose by itself, and passes in a shorter one."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

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
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


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
