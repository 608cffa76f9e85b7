"""Formats of tables by name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from robustbench_twicing.files.atomic import write_atomically

from ...metrics.flags import Amount
from ...text.file_names import told_apart
from ..table import Table
from .as_html import as_html
from .as_latex import as_latex
from .as_text import as_csv, as_json, as_markdown


class Format(NamedTuple):
    """How a table becomes text, and how its file ends."""

    render: Callable[[Table], str]
    ending: str


FORMATS = {
    "csv": Format(as_csv, "csv"),
    "md": Format(as_markdown, "md"),
    "latex": Format(as_latex, "tex"),
    "json": Format(as_json, "json"),
    "html": Format(as_html, "html"),
}


def render(table: Table, form: str, notes: Amount = "short") -> str:
    """A table as text.

    Args:
        table: any.
        form: of `FORMATS`.
        notes: how many of the table's stand in LaTeX; the other formats have all of them.
    """
    return as_latex(table, notes) if form == "latex" else FORMATS[form].render(table)


def write_tables(
    tables: Sequence[Table], folder: Path, formats: Sequence[str], notes: Amount = "short"
) -> list[Path]:
    """Write each table in these formats, named after it; names that are alike are numbered.

    Args:
        tables: any.
        folder: made where it is missing.
        formats: of `FORMATS`.
        notes: as in `render`.

    Raises:
        UserError: the folder cannot be written to.
    """
    names = told_apart(table.name for table in tables)
    return [
        _save(render(table, form, notes), folder / f"{name}.{FORMATS[form].ending}")
        for name, table in zip(names, tables, strict=True)
        for form in formats
    ]


def _save(text: str, path: Path) -> Path:
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    return path
