"""Where a network computes: the device asked for, its name, and its memory."""

import ctypes
import logging
import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import UserError
from ..files.printable import message_of

log = logging.getLogger(__name__)
_NO_MEMORY = re.compile(
    r"out of memory|(can't|cannot) allocate memory|not enough memory|ALLOC_FAILED"
)
"""What torch says in a plain `RuntimeError`: of its allocators, of CUDA, and of its libraries."""

OF_A_TENSOR, OF_A_BATCH = 2**25, 2**28
"""Bytes: blocks up to the first size are taken from memory of which the process keeps the second
when they are freed; by itself glibc hands most of it back to the system at once."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Numbers of glibc's mallopt."""


def choose_device(name: str) -> torch.device:
    """The device asked for: ``auto``, ``cpu`` or ``cuda`` (with an index, ``cuda:1``).

    Raises:
        UserError: no such device here.
    """
    available = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if available else "cpu")
    if not re.fullmatch("cpu|cuda(:[0-9]{1,4})?", name):
        raise UserError(f"--device {name!r} is unknown. Known: auto, cpu, cuda")
    kind, _, index = name.partition(":")
    if kind == "cuda" and not (available and int(index or 0) < torch.cuda.device_count()):
        raise UserError(f"--device {name}: this machine has no such CUDA device; use auto or cpu")
    return torch.device(name)


def keep_memory() -> None:
    """Let this process keep the memory of a batch for the next one, where the C library is glibc.

    Otherwise every tensor of some size is new memory, which the system clears page by page when it
    is first written.
    """
    set_option = getattr(ctypes.CDLL(None) if os.name == "posix" else None, "mallopt", None)
    if set_option is not None:
        set_option(M_MMAP_THRESHOLD, OF_A_TENSOR)
        set_option(M_TRIM_THRESHOLD, OF_A_BATCH)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out, on the GPU or on the CPU.

    Itself, or the one that it was raised because of or after: code that cleans up may fail, too.
    Never a `UserError`, which is the end.
    """
    seen = set[int]()
    earlier: BaseException | None = error
    while earlier is not None and id(earlier) not in seen:  # `raise error from error` is a circle
        if isinstance(earlier, UserError):
            return False
        if isinstance(earlier, (torch.OutOfMemoryError, MemoryError)):
            return True
        if isinstance(earlier, RuntimeError) and _NO_MEMORY.search(message_of(earlier)):
            return True
        seen.add(id(earlier))
        earlier = earlier.__cause__ or earlier.__context__
    return False


@dataclass
class RowsThatFit:
    """A network that is shown no more images at a time than there is memory for.

    Attributes:
        model: images (N, ...) to logits (N, K).
        rows: images at a time, at most; halved whenever memory runs out.
    """

    model: nn.Module
    rows: int

    def __call__(self, x: Tensor) -> Tensor:
        """Logits of any number of images."""
        while True:
            try:
                return torch.cat([self.model(images) for images in torch.split(x, self.rows)])
            except Exception as error:
                if self.rows == 1 or not is_out_of_memory(error):
                    raise
            self.rows = -(-min(self.rows, len(x)) // 2)
            log.warning("memory ran out; trying %d images at a time", self.rows)


def device_name(device: torch.device) -> str:
    """Kind of device and the processor's name."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    read: Callable[[], str] = platform.processor
    return f"{device} ({read() or platform.machine()})"
