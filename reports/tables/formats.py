"""Formats of tables by name."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.atomic import write_atomically

from .as_html import as_html
from .as_latex import as_latex
from .as_text import as_csv, as_json, as_markdown
from .sheet import Sheet


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
    """Write each table in these formats, named after it.

    Raises:
        UserError: the folder cannot be written to, or two tables have one name.
    """
    names = [sheet.name for sheet in sheets]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two tables would be written to {folder / name}; report fewer at once")
    return [_save(sheet, folder, FORMATS[name]) for sheet in sheets for name in formats]


def _save(sheet: Sheet, folder: Path, form: Format) -> Path:
    path = folder / f"{sheet.name}.{form.ending}"
    write_atomically(path, partial(_write, form.render(sheet)))
    return path


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
