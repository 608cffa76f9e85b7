"""Tables as CSV that a spreadsheet shows and does not execute."""

import csv
from collections.abc import Iterable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from robustbench_twicing.files.atomic import write_atomically

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With these a cell begins that spreadsheets take for a formula, wherever its text came from."""


def csv_text(frame: pd.DataFrame, *, index: bool = False) -> str:
    r"""A table as CSV: full precision, one heading line, lines end with a newline.

    A label or an image's name that a spreadsheet would execute gets a leading apostrophe, which
    spreadsheets do not show, and a carriage return is written as ``\\r``. All other texts, and all
    numbers, are as they are.

    Args:
        frame: the table.
        index: whether its index is written, too.
    """
    whole = frame.reset_index(allow_duplicates=True) if index else frame
    columns = dict(enumerate(_defused(whole.iloc[:, at]) for at in range(whole.shape[1])))
    names = [plain(name) for name in whole.columns]
    text: str = pd.DataFrame(columns).to_csv(index=False, header=names, lineterminator="\n")
    return text


def save_csv(frame: pd.DataFrame, path: Path) -> Path:
    """Write `csv_text` as a file and return its path; a file that is right is left as it is.

    Raises:
        UserError: it cannot be written.
    """
    content = csv_text(frame).encode("utf-8", "backslashreplace")
    with suppress(OSError):
        if path.is_file() and path.read_bytes() == content:
            return path
    write_atomically(path, lambda file: file.write_bytes(content))
    return path


def _defused(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if is_numeric_dtype(column) or is_bool_dtype(column):
        return column
    return pd.Series([plain(value) for value in column], column.index, dtype=object)


def plain(value: Any) -> Any:
    """A text as `csv_text` writes it in a cell, before it is quoted; other values as they are."""
    if not isinstance(value, str):
        return value
    defused = f"'{value}" if value.startswith(FORMULA) else value
    return defused.replace("\r", "\\r")  # alone it would end a line for some readers


def quoted(values: Iterable[object]) -> str:
    """One line of a CSV, without its end, as `csv_text` writes it."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerow([plain(value) for value in values])
    return text.getvalue()[:-1]


def quoted_cells(texts: pa.Array) -> pa.StringArray:
    """Texts (N,) as cells; each different one is looked at once, and none stays none."""
    coded = texts.dictionary_encode() if pa.types.is_string(texts.type) else texts
    cells = [quoted([text, ""])[:-1] for text in coded.dictionary.to_pylist()]
    return pa.array(cells, pa.string()).take(coded.indices)


def csv_lines(columns: Iterable[pa.Array]) -> bytes:
    """Lines of a CSV, of many rows at once: in full precision, empty where there is no value.

    Args:
        columns: (N,) each, numbers or cells as `quoted_cells` makes them.
    """
    cells = [column.cast(pa.string()) for column in columns]
    lines = pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement="")
    return ("\n".join([*lines.to_pylist(), ""])).encode("utf-8", "backslashreplace")
