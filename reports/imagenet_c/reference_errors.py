"""A normaliser of one's own for CE and mCE: a run, or a file of errors."""

import csv
from pathlib import Path

from robustbench_twicing.data.imagenet_c import GROUPS, cells
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.printable import count
from robustbench_twicing.files.text import read_text
from robustbench_twicing.records.run_folder import RunFolder

from ..metrics.results import results
from .corruption_error import ReferenceErrors
from .corruption_rows import corruption_errors, corruption_rows
from .corruption_scores import GROUP, clean_error_of, kind_of

LARGEST_FILE = 100_000
"""Bytes of a file of errors, which has 96 lines."""
COLUMNS = ("corruption", "severity", "error")


def read_normaliser(text: str) -> ReferenceErrors:
    """The normaliser that ``--normaliser`` names.

    Args:
        text: ``RUN_DIR``, ``RUN_DIR:LABEL``, or a CSV file with the columns corruption, severity
            and error (a fraction); a row clean, 0 holds the clean error, for relative mCE.

    Raises:
        UserError: nothing there, several models or none under ImageNet-C, or a bad file.
    """
    if Path(text).is_file():
        return _from_csv(Path(text))
    folder, colon, label = text.rpartition(":")
    if Path(text).is_dir() or not colon:
        folder, label = text, ""
    if not Path(folder).is_dir():
        raise UserError(
            f"--normaliser {text}: there is no such file, nor a folder {folder}; give RUN_DIR, "
            "RUN_DIR:LABEL or a CSV file"
        )
    return _from_run(Path(folder), label)


def _from_run(path: Path, label: str) -> ReferenceErrors:
    table = results(RunFolder.open(path))
    rows = corruption_rows(table)
    if label:
        rows = rows[rows["label"] == label]
    groups = [key for key, _ in rows.groupby(GROUP, sort=False)]
    labels = ", ".join(dict.fromkeys(map(str, table["label"])))
    if not groups:
        about = f"label {label!r} has no corruptions" if label else "it has no corruptions"
        raise UserError(f"--normaliser {path}: {about}; its labels are {labels}")
    if len(groups) > 1:
        raise UserError(
            f"--normaliser {path} has several models, data sets or protocols under ImageNet-C; "
            f"name one model, as in {path}:LABEL; its labels are {labels}"
        )
    first = rows.iloc[0]
    images = f"{count(rows['n_images'].min(), 'image')} of {first['dataset']}, {first['source']}"
    clean = clean_error_of(table, first)
    name = f"{first['label']} ({path.name})"
    return ReferenceErrors(name, corruption_errors(rows), clean, images, kind_of(rows))


def _from_csv(path: Path) -> ReferenceErrors:
    text = read_text(path, LARGEST_FILE).splitlines()
    try:
        lines = csv.DictReader(line for line in text if not line.startswith("#"))
        rows = [((row[COLUMNS[0]], int(row[COLUMNS[1]])), float(row[COLUMNS[2]])) for row in lines]
    except (KeyError, ValueError, TypeError, csv.Error) as error:
        raise UserError(
            f"--normaliser {path} is not a CSV file with the columns {', '.join(COLUMNS)} "
            f"({type(error).__name__}: {error})"
        ) from error
    errors = dict(rows)
    _check_cells(path, [cell for cell, _ in rows])
    if not all(0 <= error <= 1 for error in errors.values()):
        raise UserError(f"--normaliser {path}: errors are fractions from 0 to 1, not percent")
    clean = errors.pop(("clean", 0), None)
    if not errors:
        raise UserError(f"--normaliser {path} holds no error")
    return ReferenceErrors(
        path.name, errors, clean, "the images that its errors were measured on", None
    )


def _check_cells(path: Path, given: list[tuple[str, int]]) -> None:
    """A misspelt name would be a cell that is missing, and a second line would hide the first."""
    known = {("clean", 0), *cells(GROUPS["all"])}
    for cell in given:
        name = f"{cell[0]},{cell[1]}"
        if cell not in known:
            raise UserError(
                f"--normaliser {path}: ImageNet-C has no {name}; lines are like fog,3 or clean,0"
            )
        if given.count(cell) > 1:
            raise UserError(f"--normaliser {path} has two lines of {name}; leave one")
