"""Where and with what was measured."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from benchmarks.table import Table
from robustbench_twicing import __version__
from robustbench_twicing.classifiers.efficiency import MIB

PACKAGES = (
    *("torch", "torchvision", "timm", "numpy", "scipy", "pandas", "pyarrow", "pillow"),
    *("torchattacks", "foolbox", "cleverhans", "imagecorruptions-imaug"),
)


def describe(started: datetime, load_before: float) -> Table:
    """The machine, the versions, and what else the machine did meanwhile.

    Args:
        started: when the measurements began.
        load_before: load average of the minute before.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    facts = {
        "date": f"{started:%Y-%m-%d %H:%M} to {datetime.now(UTC):%H:%M} UTC",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory / MIB / 1024:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "load average, before and after": f"{load_before:.2f}, {os.getloadavg()[0]:.2f}",
        "threads": str(torch.get_num_threads()),
        "python": platform.python_version(),
        "robustbench_twicing": __version__,
        **{name: _version(name) for name in PACKAGES},
    }
    rows = [[name, value] for name, value in facts.items()]
    return Table("Machine and versions", ["", ""], rows)


def _processor() -> str:
    """The processor's name on Linux, and what Python knows elsewhere."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        about = ""
    names = [line.partition(":")[2].strip() for line in about.splitlines() if "model name" in line]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
