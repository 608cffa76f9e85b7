"""How a model computes: by torch's own kernels or oneDNN's, and in which memory format."""

from pathlib import Path
from typing import Literal, get_args

import torch

from ...errors import UserError

Kernels = Literal["auto", "plain", "onednn"]
MEMORY_FORMATS = ("contiguous", "channels_last")
_CPU_INFO = Path("/proc/cpuinfo")


def choose_kernels(asked: str, device: torch.device) -> str:
    """``plain`` or ``onednn``; ``auto`` is onednn on the kind of processor that gained by it.

    That is an AMD processor with AVX-512, for a model on the CPU.

    Raises:
        UserError: an unknown name, or oneDNN where torch has none or the model is on a GPU.
    """
    if asked not in get_args(Kernels):
        raise UserError(f"--kernels {asked!r} is unknown; it is {', '.join(get_args(Kernels))}")
    possible = device.type == "cpu" and has_onednn()
    if asked == "onednn" and not possible:
        raise UserError(
            f"--kernels onednn is for the CPU, with a torch that has oneDNN; this is {device} and "
            f"torch {torch.__version__}; use auto or plain"
        )
    if asked == "auto":
        return "onednn" if possible and _gains() else "plain"
    return asked


def known_memory_format(asked: str) -> str:
    """What was asked for.

    Raises:
        UserError: an unknown name.
    """
    if asked not in MEMORY_FORMATS:
        known = " or ".join(MEMORY_FORMATS)
        raise UserError(f"--memory-format {asked!r} is unknown; it is {known}")
    return asked


def has_onednn() -> bool:
    """Whether this torch was built with oneDNN and offers its linear layer."""
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
