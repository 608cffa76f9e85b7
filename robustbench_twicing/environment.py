"""Machine, versions and commit of the process that computes: recorded with every run."""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from . import __version__
from .errors import UserError

PACKAGES = ("torch", "torchvision", "timm", "torchattacks", "foolbox", "numpy", "pillow", "pandas")
OUT_OF_MEMORY_WORDS = (
    "can't allocate memory",  # torch's CPU allocator
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


def describe_environment(device: torch.device) -> dict[str, Any]:
    """Facts about this process, as plain values."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "pid": os.getpid(),
        "command": sys.argv,
        "robustbench_twicing": __version__,
        "git": git_state(Path(__file__).parent),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: _version(name) for name in PACKAGES},
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
    }


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit and whether the checkout differs from it; None outside a checkout."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None or _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    return {"commit": commit, "dirty": bool(_git(folder, "status", "--porcelain"))}


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


def _git(folder: Path, *command: str) -> str | None:
    try:
        done = subprocess.run(
            # A checkout's own configuration may name a program to be asked for changes.
            ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # no git here: the manifest then says null
    return done.stdout.strip() if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def device_name(device: torch.device) -> str:
    """Kind of device and the processor's name."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    read: Callable[[], str] = platform.processor
    return f"{device} ({read() or platform.machine()})"
