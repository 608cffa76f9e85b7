"""Number formats that a device would choose by itself."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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
