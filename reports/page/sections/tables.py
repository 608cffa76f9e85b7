"""The tables of the page, in the forms that `reports.tables` has."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from robustbench_twicing.errors import UserError

from ...merging.runs import Runs
from ...metrics.flags import explain_flag
from ...metrics.notes import notes
from ...tables.formats.as_html import as_html
from ...tables.marks import SIGNIFICANT_NOTE, mark
from ...tables.presets import Choices, all_presets, preset_tables
from ...tables.table import Column, Table

FLAGS = Column("flags", digits=None)
MARKING = SIGNIFICANT_NOTE.format("the").replace("this table", "its table")
"""Said once of all tables."""
_MARKING = re.compile(re.escape(SIGNIFICANT_NOTE).replace(re.escape("{0}"), r"\d+"))
_NOT_APPLICABLE = re.compile(r".+ was not run for .+|No .+: not-comparable .+")
"""Notes of tables without a number that say of what else the run could have been."""


class Fold(NamedTuple):
    """A table as HTML, and the line under which it is folded."""

    title: str
    table: Markup


class Tables(NamedTuple):
    """Tables of the page.

    Attributes:
        shown: what they are of, and the tables.
        marking: what bold and underlined numbers are; empty where none are.
        left_out: why some are not there.
    """

    shown: Sequence[Fold] = ()
    marking: str = ""
    left_out: Sequence[str] = ()


def page_tables(runs: Runs, results: pd.DataFrame, choices: Choices) -> Tables:
    """The presets that are for the page, with significance marked and intervals below accuracies.

    What has no numbers is left out, without a word where it could have none.

    Args:
        runs: merged runs.
        results: `results` of them.
        choices: of the presets.
    """
    shown: list[Fold] = []
    left_out: list[str] = []
    elsewhere = {*notes(runs, results)}
    has_marks = False
    for name in (name for name, preset in all_presets().items() if preset.on_page):
        try:
            tables = preset_tables(name, runs, results, choices)
        except UserError as error:
            left_out.append(f"Table {name} is left out: {error}.")
            continue
        for table in tables:
            if table.frame.notna().any(axis=None):
                marked = mark(table, "significant", runs)
                has_marks |= bool(marked.marks)
                shown.append(Fold(table.title, embed_table(marked, results, elsewhere)))
            else:
                reasons = set(without_flags(table.notes, results)) - elsewhere
                left_out += [note for note in table.notes if note in reasons and _applies(note)]
    return Tables(shown, MARKING if has_marks else "", list(dict.fromkeys(left_out)))


def _applies(note: str) -> bool:
    return _NOT_APPLICABLE.fullmatch(note) is None


def all_results(runs: Runs, results: pd.DataFrame) -> Markup:
    """Every result in one table, with its flags."""
    tables = all_presets()["results"].make(runs, results, Choices()) if len(results) else ()
    return Markup("").join(Markup(as_html(_with_flags(table))) for table in tables)


def _with_flags(table: Table) -> Table:
    """The flags beside the numbers, and no notes: the page has them elsewhere."""
    flags = table.about["flags"].str.replace(";", " ").to_numpy()
    values = pd.DataFrame(flags, table.frame.index)
    return replace(table.with_columns([FLAGS], values, at=len(table.columns)), notes=())


def embed_table(table: Table, results: pd.DataFrame, elsewhere: Collection[str] = ()) -> Markup:
    """A table as HTML that is already escaped.

    Args:
        table: to be shown.
        results: `results`, for intervals.
        elsewhere: notes that the page has in another place.
    """
    below = [
        note
        for note in without_flags(table.notes, results)
        if note not in elsewhere and not _MARKING.fullmatch(note)
    ]
    return Markup(as_html(replace(table, notes=tuple(below)), hints=_intervals(table, results)))


def without_flags(sentences: Sequence[str], results: pd.DataFrame) -> list[str]:
    """Sentences without those on flags, which have a section of their own."""
    flags = set(results["flags"].str.split(";").explode())
    explained = {f"{flag}: {explain_flag(flag)}" for flag in flags}
    return [line for line in sentences if not line.startswith("! ") and line not in explained]


def _intervals(table: Table, results: pd.DataFrame) -> dict[tuple[int, int], str]:
    """95 % intervals of the cells that hold one result's top-1 accuracy."""
    hints = {}
    for (row, column), entry in np.ndenumerate(table.entries):
        if entry >= 0 and table.columns[column].metric == "top1":
            interval: Any = results.loc[int(entry), ["top1_ci_low", "top1_ci_high"]]
            low, high = map(float, interval)
            if not np.isnan(low):
                hints[row, column] = f"{low:.1f}–{high:.1f}"
    return hints
