"""Where a network computes: the device asked for, its name, and whether its memory ran out."""

import platform
import re
from collections.abc import Callable

import torch

from ..errors import UserError

OUT_OF_MEMORY_WORDS = (
    "can't allocate memory",  # torch's CPU allocator
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


def choose_device(name: str) -> torch.device:
    """The device asked for: ``auto``, ``cpu`` or ``cuda`` (with an index, ``cuda:1``).

    Raises:
        UserError: no such device here.
    """
    available = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if available else "cpu")
    if not re.fullmatch("cpu|cuda(:[0-9]{1,4})?", name):
        raise UserError(f"--device {name!r} is unknown; it is auto, cpu or cuda")
    kind, _, index = name.partition(":")
    if kind == "cuda" and not (available and int(index or 0) < torch.cuda.device_count()):
        raise UserError(f"--device {name}: this machine has no such CUDA device; use auto or cpu")
    return torch.device(name)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out, on the GPU or on the CPU."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in OUT_OF_MEMORY_WORDS
    )


def device_name(device: torch.device) -> str:
    """Kind of device and the processor's name."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    read: Callable[[], str] = platform.processor
    return f"{device} ({read() or platform.machine()})"
