"""What is filled, and what fills it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disks import Disk
from tests.robustbench_twicing.cli.conftest import site

__all__ = ["site"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A file system of its own."""
    disk = Disk(tmp_path / "disk")
    try:
        disk.mount()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small file system cannot be mounted here, which takes root")
    yield disk
    disk.unmount()
