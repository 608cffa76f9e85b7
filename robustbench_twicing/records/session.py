"""The work of one process on a run folder: its machine, versions and commit are noted.

Nothing is left behind where nothing was done.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import UserError
from ..files.atomic import write_atomically
from .locks import FILE as OWNERS
from .manifest import PARTS, SESSIONS, SETTINGS
from .run_folder import RunFolder

if TYPE_CHECKING:  # a session is noted and read without torch
    import torch

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


@contextmanager
def session(folder: RunFolder, environment: dict[str, Any]) -> Iterator[None]:
    """Note the machine and versions of this process; inside, it works on the run.

    A mistake that shows only in the work, like labels that are not the model's classes, leaves no
    folder behind in which nobody has computed anything.

    Args:
        folder: of the run.
        environment: see `describe_environment`.

    Raises:
        UserError: it cannot be written to.
    """
    note: Path | None = None
    try:
        note = add_session(folder, environment)
        yield
    except UserError:
        _leave_no_trace(folder.path, note)
        raise


def add_session(folder: RunFolder, environment: dict[str, Any]) -> Path:
    """Note the machine and versions of a process that works on a run; the file."""
    text = json.dumps(environment, indent=1, ensure_ascii=False) + "\n"
    # Containers number their processes alike, so time and process are not unique.
    name = f"{environment['started'].replace(':', '')}-{token_hex(4)}.json"
    note = folder.path / SESSIONS / name
    write_atomically(note, lambda file: file.write_text(text, encoding="utf-8"))
    return note


def _leave_no_trace(folder: Path, note: Path | None) -> None:
    """Take a folder away that holds no work, and in which no other process is noted."""
    parts = folder / PARTS
    try:
        if {path.name for path in folder.iterdir()} - {SETTINGS, SESSIONS, PARTS}:
            return
        below = sorted(parts.rglob("*"), reverse=True)  # what is in a folder comes before it
        if any(path.name != OWNERS for path in below if not path.is_dir()):
            return
        if note is not None:
            note.unlink()
        if (folder / SESSIONS).is_dir():
            (folder / SESSIONS).rmdir()
        for path in below:
            path.rmdir() if path.is_dir() else path.unlink()
        if parts.is_dir():
            parts.rmdir()
        (folder / SETTINGS).unlink()  # last: until then the run could still be continued
        folder.rmdir()
    except OSError:
        return  # another process works here, or nothing can be written any more


def describe_environment(device: "torch.device") -> dict[str, Any]:
    """Facts about this process, as plain values."""
    import torch

    from ..classifiers.device import device_name

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
