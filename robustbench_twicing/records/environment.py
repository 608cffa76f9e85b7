"""Machine, versions and commit of the process that computes: recorded with every run."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from .. import __version__
from ..classifiers.device import device_name

PACKAGES = (
    "torch",
    "torchvision",
    "timm",
    "pyautoattack",
    "torchattacks",
    "foolbox",
    "numpy",
    "scipy",
    "pillow",
    "pandas",
)


def describe_environment(device: torch.device) -> dict[str, Any]:
    """Facts about this process, as plain values."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="microseconds"),
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
