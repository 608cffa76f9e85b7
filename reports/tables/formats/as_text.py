"""Tables as CSV, JSON and Markdown."""

import json
import re
from typing import Any

import pandas as pd

from robustbench_twicing.files.printable import unbroken

from ...text.csv_text import csv_text
from ..table import ABOUT, Table


def as_csv(table: Table) -> str:
    """Full precision, one heading line, then one line a row; empty where there is no number.

    Every row says its data set, protocol, images, seed and flags. Marks and notes have no place in
    a CSV; the other formats have them.
    """
    frame = table.frame.set_axis(
        [column.key or column.full_name for column in table.columns], axis=1
    )
    about = table.about.set_axis(frame.index)
    return csv_text(pd.concat([frame, about], axis=1), index=True)


def as_json(table: Table) -> str:
    r"""Full precision, null where there is no number, with marks, groups and notes.

    Characters that steer a terminal or turn the direction of writing are ``\u`` escapes, which a
    reader of JSON turns back.
    """
    rows = []
    for position, names in enumerate(table.row_names):
        about = table.about.iloc[position]
        rows.append(
            {
                "names": dict(zip(table.stub, names, strict=True)),
                "group": table.group_of[position],
                "values": [_plain(value) for value in table.frame.iloc[position]],
                "marks": [table.marks.get((position, c), "") for c in range(len(table.columns))],
                **{name: about[name] for name in ABOUT},
            }
        )
    columns = [{"head": column.head, "name": column.name} for column in table.columns]
    content = {
        "title": table.title,
        "columns": columns,
        "rows": rows,
        "notes": list(table.notes),
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    return "".join(map(_shown_in_json, text)) + "\n"


def _shown_in_json(letter: str) -> str:
    return letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


MARKDOWN = {"best": "**{}**", "second": "<u>{}</u>", "": "{}"}


def as_markdown(table: Table) -> str:
    """A pipe table with its title above and its notes below."""
    heads = [*table.stub, *(column.full_name for column in table.columns)]
    rules = [*("---" for _ in table.stub), *("---:" for _ in table.columns)]
    lines = [f"**{_markdown(table.title)}**", "", _markdown(table.place), ""]
    lines += [_line([_markdown(head) for head in heads]), _line(rules)]
    for position, names in enumerate(table.row_names):
        cells = [
            MARKDOWN[table.marks.get((position, column), "")].format(text) if text else ""
            for column in range(len(table.columns))
            for text in [_markdown(table.cell(position, column))]
        ]
        lines.append(_line([*(_markdown(name) for name in names), *cells]))
    notes = [f"- {_markdown(note)}" for note in table.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    """Text in which nothing is markup, on one line; what cannot be printed is an escape."""
    one_line = unbroken(text)
    escaped = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", escaped)
