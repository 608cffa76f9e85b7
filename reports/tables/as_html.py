"""Tables as HTML: a fragment for a page of one's own."""

from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from .sheet import Sheet, column_runs


def as_html(sheet: Sheet) -> str:
    """A <figure> with caption, table and notes; every text is escaped.

    Classes to style it by: ``rb-table``, and ``best``, ``second``, ``group-start`` and ``number``
    within.
    """
    rows = [
        {
            "names": names,
            "start": bool(position) and sheet.group_of[position] != sheet.group_of[position - 1],
            "cells": [
                (sheet.cell(position, column), sheet.marks.get((position, column), ""))
                for column in range(len(sheet.columns))
            ],
        }
        for position, names in enumerate(sheet.row_names)
    ]
    heads = column_runs(sheet.columns)
    return _template().render(sheet=sheet, rows=rows, heads=heads)


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("reports", "tables/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("table.html.j2")
