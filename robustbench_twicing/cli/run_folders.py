"""Run folders that are read and folders that are written to, checked before anything is printed."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from ..files.printable import name_some

if TYPE_CHECKING:
    from ..records.run_folder import RunFolder

MOST_NAMES = 4
"""Run folders that one line names."""


def open_runs(paths: Sequence[Path]) -> "list[RunFolder]":
    """Open run folders.

    Raises:
        UserError: one is none; the message says what it is instead, where that can be seen.
    """
    return [_open(path) for path in paths]


def _open(path: Path) -> "RunFolder":
    from ..records.run_folder import RunFolder

    if path.is_file():
        known = "; for the CSV of efficiency, --preset efficiency" if path.suffix == ".csv" else ""
        raise UserError(
            f"{path} is a file; give the folder that it is in, the --out of an eval{known}"
        )
    if path.is_dir() and not (path / "run.json").exists():
        runs = sorted(str(file.parent) for file in path.glob("*/run.json"))
        if runs:
            raise UserError(
                f"{path} is not a run folder, but holds some: give "
                f"{name_some(runs, MOST_NAMES, ' ')}"
            )
    return RunFolder.open(path)


def check_out(out: Path | None) -> None:
    """Refuse a folder that cannot be written to, before work is done for it.

    Raises:
        UserError: it, or what it would be in, is a file, or may not be written to.
    """
    if out is None:
        return
    existing = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not existing.is_dir():
        raise UserError(f"--out {out}: {existing} is a file; name a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"--out {out}: {existing} may not be written to; name another folder")
