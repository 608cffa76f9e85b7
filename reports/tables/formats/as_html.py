"""Tables as HTML: a fragment for a page of one's own."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from robustbench_twicing.files.printable import printable

from ...text.wrapping import pieces
from ..table import Table, column_runs


class _Cell(NamedTuple):
    """Rounded text, the value in full precision if it is a number, mark, hint and classes."""

    text: str
    value: float | None
    mark: str
    hint: str
    kind: str


def as_html(table: Table, *, hints: Mapping[tuple[int, int], str] | None = None) -> str:
    """A <figure> with caption, table and notes; every text is escaped.

    Classes to style it by: ``rb-table``, ``scroll``, and ``best``, ``second``, ``group-start`` and
    ``number`` within. Numbers have their full precision in ``data-value``, and the names of columns
    that a script may sort by have ``data-sort``.

    Args:
        table: to be written.
        hints: small text below a cell, by row and column.
    """
    rows = [
        {
            "names": names,
            "start": bool(position) and table.group_of[position] != table.group_of[position - 1],
            "cells": [
                _cell(table, (position, column), (hints or {}).get((position, column), ""))
                for column in range(len(table.columns))
            ],
        }
        for position, names in enumerate(table.row_names)
    ]
    heads = column_runs(table.columns)
    return _template().render(table=table, rows=rows, heads=heads)


def shown(value: Any) -> Any:
    """What a page writes for a value: in a text, what cannot be printed is an escape."""
    if type(value) is not str:  # markup is one, too
        return value
    return re.sub(r"\S+", lambda match: printable(match[0]), value)


def breakable(text: str) -> Markup:
    """Text that a narrow screen may break between the words of a name, not within them."""
    escaped = [escape(piece) for piece in pieces(shown(text))]
    return Markup("").join(
        piece if piece[-1:].isspace() else piece + Markup("<wbr>") for piece in escaped[:-1]
    ) + Markup("").join(escaped[-1:])


def _cell(table: Table, place: tuple[int, int], hint: str) -> _Cell:
    value: Any = table.frame.iat[place]
    is_number = isinstance(value, (int, float, np.number)) and not np.isnan(value)
    full = float(value) if is_number else None
    mark = table.marks.get(place, "")
    number = "" if table.columns[place[1]].digits is None else "number"
    return _Cell(table.cell(*place), full, mark, hint, " ".join(filter(None, (number, mark))))


@lru_cache(maxsize=1)
def _template() -> Template:
    loader = PackageLoader("reports", "tables/templates")
    return templates(loader, keep_trailing_newline=True).get_template("table.html.j2")


def templates(loader: PackageLoader, *, keep_trailing_newline: bool = False) -> Environment:
    """Templates of HTML, in which every text is escaped and can be printed.

    Args:
        loader: of the files.
        keep_trailing_newline: whether what is made ends with the file's last line end.
    """
    environment = Environment(
        loader=loader,
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=keep_trailing_newline,
    )
    environment.filters["breakable"] = breakable
    return environment
