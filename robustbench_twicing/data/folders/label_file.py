"""Label files: CSV with or without a header, or plain lines of a name and a label."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from ...errors import UserError
from ...files.text import read_text
from ..imagenet import WNID, wnid_to_index
from .class_list import OwnClasses
from .devkit import ground_truth_in, read_ground_truth

NAME_COLUMNS = ("file", "filename", "file_name", "path", "image", "image_id", "imageid", "name")
LABEL_COLUMNS = ("wnid", "synset", "index", "class_index", "label", "target", "class")
BOXES_COLUMN = "predictionstring"
"""Kaggle's ``LOC_val_solution.csv``: a wnid and four numbers per box, all of one class."""
RIGHT_FORM = "right is a line like ILSVRC2012_val_00000001.JPEG,n01751748 for every image"
Target = TypeVar("Target", int, tuple[int, ...])
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")


class Label(NamedTuple, Generic[Target]):
    """One line of a label file: line number from 1, image name as written, class index.

    Of JSON with several labels an image: the number of the entry, and these labels, ascending.
    ``by_number``: whether nothing but a number says which class is meant.
    """

    line: int
    name: str
    target: Target
    by_number: bool = False


class _Row(NamedTuple):
    line: int
    cells: list[str]


class _Columns(NamedTuple):
    """Positions: of the name, of the label, and of other labels that have to agree."""

    name: int
    label: int
    checks: tuple[int, ...] = ()


def read_label_file(path: Path, classes: OwnClasses | None = None) -> tuple[Label[int], ...]:
    """Read a label file.

    Labels are wnids or indices 0..999 of ImageNet-1k, or, with ``classes``, its names or indices.
    ILSVRC's development kit, or its ground truth beside its ``meta.mat``, is one, too.

    Raises:
        UserError: with the line number: not text, no names, no such class.
    """
    path = ground_truth_in(path)
    truth = read_ground_truth(path) if classes is None else None
    if truth is not None:
        return tuple(Label(line, *pair) for line, pair in enumerate(truth, 1))
    return parse_labels(read_text(path), str(path), classes)


def parse_labels(
    text: str, source: str, classes: OwnClasses | None = None
) -> tuple[Label[int], ...]:
    """Labels from the text of a label file; see `read_label_file`."""
    rows = list(_rows(text, source))
    if not rows:
        raise UserError(f"{source} is empty; {RIGHT_FORM}")
    columns = _header(rows[0], source)
    if columns is not None:
        rows = rows[1:]
        if not rows:
            raise UserError(f"{source} has a header and no labels; {RIGHT_FORM}")
        columns = _meant(columns, rows[0], classes)
    else:
        columns = _without_header(rows[0], source)
    return tuple(_label(row, columns, source, classes) for row in rows)


def class_index(text: str, classes: OwnClasses | None) -> int | None:
    """The class that a label means, or None: a wnid or an integer, or one of the own names."""
    if classes is not None and text in classes.indices:
        return classes.indices[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return wnid_to_index().get(text) if classes is None else None


def _rows(text: str, source: str) -> Iterator[_Row]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = next((mark for mark in "\t;," if mark in first), None)
    if delimiter is None:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield _Row(number, line.strip().rsplit(maxsplit=1))
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _Row(reader.line_num, [cell.strip() for cell in cells])
    except csv.Error as error:
        raise UserError(f"{source}:{reader.line_num}: {error}; {RIGHT_FORM}") from error


def _header(row: _Row, source: str) -> _Columns | None:
    """The columns that a header names; None where the first row is no header."""
    cells = [cell.lower() for cell in row.cells]
    names = [cells.index(name) for name in NAME_COLUMNS if name in cells]
    labels = [cells.index(name) for name in (*LABEL_COLUMNS, BOXES_COLUMN) if name in cells]
    if not names and not labels:
        return None
    if not names or not labels:
        missing = ("label", LABEL_COLUMNS) if names else ("name", NAME_COLUMNS)
        raise UserError(
            f"{source}: the header ({', '.join(row.cells)}) has no {missing[0]} column; "
            f"it may be called {', '.join(missing[1])}"
        )
    return _Columns(names[0], labels[0], tuple(labels[1:]))


def _meant(columns: _Columns, row: _Row, classes: OwnClasses | None) -> _Columns:
    """With the first column as the label that names a class in a row; own classes say which."""
    several = (columns.label, *columns.checks)
    cells = {column: _one_class(row.cells[column]) for column in several if column < len(row.cells)}
    named = [column for column, cell in cells.items() if class_index(cell, classes) is not None]
    label = next(iter(named), columns.label)
    return _Columns(columns.name, label, tuple(column for column in several if column != label))


def _without_header(row: _Row, source: str) -> _Columns:
    if len(row.cells) == 1:
        raise UserError(
            f"{source}: line {row.line} ({row.cells[0]!r}) has no file name, and ILSVRC's own "
            f"ground truth counts classes in another order; {RIGHT_FORM}"
        )
    if len(row.cells) > 2 and not WNID.fullmatch(row.cells[1]):
        raise UserError(
            f"{source}: {len(row.cells)} columns and no header; name them in a first line, "
            "like file,wnid"
        )
    return _Columns(0, 1)


def _label(row: _Row, columns: _Columns, source: str, classes: OwnClasses | None) -> Label[int]:
    if len(row.cells) <= max(columns.name, columns.label):
        raise UserError(f"{source}:{row.line}: no label for {row.cells[0]!r}; {RIGHT_FORM}")
    name, text = row.cells[columns.name], _one_class(row.cells[columns.label])
    index = class_index(text, classes)
    if not name or index is None:
        raise UserError(f"{source}:{row.line}: {_not_a_label(name, text, classes)}")
    limit = classes.num_classes if classes is not None else None
    if limit is not None and not 0 <= index < limit:
        raise UserError(
            f"{source}:{row.line}: class index {index} of {name!r} is not one of the "
            f"{limit} classes 0 to {limit - 1} of {classes.source if classes else ''}"
        )
    for column in columns.checks:
        second = row.cells[column] if column < len(row.cells) else ""
        if class_index(_one_class(second), classes) not in (None, index):
            raise UserError(
                f"{source}:{row.line}: two labels of {name!r} disagree: {text} is class {index}, "
                f"but another column says {second!r} (counted from 1?)"
            )
    return Label(row.line, name, index, classes is None and text.lstrip("+-").isdecimal())


def _one_class(cell: str) -> str:
    """The one wnid of Kaggle's ``n01751748 111 108 431 202 n01751748 ...``; else the cell."""
    named = {token for token in cell.split() if WNID.fullmatch(token)}
    return named.pop() if len(named) == 1 else cell


def _not_a_label(name: str, text: str, classes: OwnClasses | None) -> str:
    if not name:
        return f"no file name before the label {text!r}; {RIGHT_FORM}"
    if classes is not None:
        return f"label {text!r} of {name!r} is not a class of {classes.source}"
    if WNID.fullmatch(text):
        return f"{text}, the label of {name!r}, is not among ImageNet-1k's 1000 wnids"
    return (
        f"label {text!r} of {name!r} is neither a wnid (n01440764) nor a class index 0 to 999; "
        "own class names need --classes FILE"
    )
