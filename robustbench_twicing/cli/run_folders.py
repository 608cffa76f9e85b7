"""Run folders that are read and folders that are written to, checked before anything is printed."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import UserError
from ..files.printable import name_some, one_line

if TYPE_CHECKING:
    import pandas as pd

    from reports import Runs
    from reports.imagenet_c.corruption_error import ReferenceErrors

    from ..records.run_folder import RunFolder

MOST_NAMES = 4
"""Paths that one line names."""


def open_runs(paths: Sequence[Path]) -> "list[RunFolder]":
    """Open run folders, and those one level down in a folder that is none itself.

    Of several paths, as a shell makes them of ``runs/*``, those that are no run are skipped, and a
    line on standard error names them.

    Raises:
        UserError: there is no run at all, a path does not exist, or a run cannot be read.
    """
    from ..records.run_folder import RunFolder

    runs, skipped = list[Path](), list[Path]()
    for path in paths:
        held = list(_runs_at(path))
        runs += held
        if not held and len(paths) > 1 and path.exists():
            skipped.append(path)
        elif not held:
            _check_is_folder(path)
            runs.append(path)  # opening it says what is wrong
    if skipped:
        names = name_some(map(str, skipped), MOST_NAMES)
        if not runs:
            raise UserError(f"none of {names} is a run folder; give the --out of an eval")
        sys.stderr.write(f"{one_line(f'skipped, since they are no run folders: {names}')}\n")
    return [RunFolder.open(path) for path in runs]


def _runs_at(path: Path) -> Iterator[Path]:
    """A run folder itself; else those that it holds."""
    if (path / "run.json").exists():
        yield path
    elif path.is_dir():
        yield from sorted(file.parent for file in path.glob("*/run.json"))


def _check_is_folder(path: Path) -> None:
    if not path.exists():
        raise UserError(f"{path}: there is no such folder; give the --out of an eval")
    if path.is_file():
        known = "; for the CSV of efficiency, --preset efficiency" if path.suffix == ".csv" else ""
        raise UserError(
            f"{path} is a file; give the folder that it is in, the --out of an eval{known}"
        )


def read_runs(folders: "Sequence[RunFolder]", *, quiet: bool) -> "Runs":
    """Merge runs, with their worst cases; where it takes long, standard error says how far it is.

    Raises:
        UserError: as `merge`.
    """
    from reports import merge, with_worst

    from .terminal import patiently

    with patiently("reading records, files", hidden=quiet) as advance:
        return with_worst(merge(folders, advance))


class Results(NamedTuple):
    """What runs came to.

    Attributes:
        runs: merged.
        table: `results` of them.
        scores: `corruption_scores` of the table.
    """

    runs: "Runs"
    table: "pd.DataFrame"
    scores: "pd.DataFrame"


def results_of(runs: "Runs", reference: "ReferenceErrors | None" = None) -> Results:
    """What merged runs came to.

    Args:
        runs: merged runs.
        reference: the reference errors of CE and mCE, AlexNet unless given.

    Raises:
        UserError: as `results` and `corruption_scores`.
    """
    from reports import corruption_scores, results

    table = results(runs)
    return Results(runs, table, corruption_scores(table, reference=reference))


def check_csv(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, or is no CSV, before work is done for it.

    Raises:
        UserError: it is a folder, ends otherwise, or its folder is not there.
    """
    if path.is_dir() or path.suffix.lower() != ".csv":
        what = "is a folder" if path.is_dir() else "does not end in .csv"
        raise UserError(f"{option} {path} {what}; name a file, like {option} images.csv")
    if not path.absolute().parent.is_dir():
        raise UserError(f"{option} {path}: there is no folder {path.parent}; make it first")


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
