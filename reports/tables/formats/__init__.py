"""Formats of tables by name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from robustbench_twicing.files.atomic import write_atomically

from ...text.file_names import told_apart
from ..sheet import Sheet
from .as_html import as_html
from .as_latex import as_latex
from .as_text import as_csv, as_json, as_markdown


class Format(NamedTuple):
    """How a table becomes text, and how its file ends."""

    render: Callable[[Sheet], str]
    ending: str


FORMATS = {
    "csv": Format(as_csv, "csv"),
    "md": Format(as_markdown, "md"),
    "latex": Format(as_latex, "tex"),
    "json": Format(as_json, "json"),
    "html": Format(as_html, "html"),
}


def save_sheets(sheets: Sequence[Sheet], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write each table in these formats, named after it; names that are alike are numbered.

    Raises:
        UserError: the folder cannot be written to.
    """
    names = told_apart(sheet.name for sheet in sheets)
    return [
        _save(sheet, folder / f"{name}.{FORMATS[form].ending}", FORMATS[form])
        for name, sheet in zip(names, sheets, strict=True)
        for form in formats
    ]


def _save(sheet: Sheet, path: Path, form: Format) -> Path:
    text = form.render(sheet)
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    return path
