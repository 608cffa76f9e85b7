"""The tables of the page, in the forms that `reports.tables` has."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from robustbench_twicing.errors import UserError

from ...merging.runs import Runs
from ...metrics.flags import explain_flag
from ...metrics.notes import notes
from ...tables.formats.as_html import as_html
from ...tables.marks import mark
from ...tables.presets import Choices, all_presets, preset_tables
from ...tables.table import Column, Table

FLAGS = Column("flags", digits=None)


def page_tables(
    runs: Runs, results: pd.DataFrame, choices: Choices
) -> tuple[list[Markup], list[str]]:
    """The presets that are for the page, with significance marked and intervals below accuracies.

    What has no numbers is left out.

    Args:
        runs: merged runs.
        results: `results` of them.
        choices: of the presets.

    Returns:
        Tables as HTML, and why some are left out.
    """
    shown: list[Markup] = []
    left_out: list[str] = []
    elsewhere = notes(runs, results)
    for name in (name for name, preset in all_presets().items() if preset.on_page):
        try:
            tables = preset_tables(name, runs, results, choices)
        except UserError as error:
            left_out.append(f"Table {name} is left out: {error}.")
            continue
        for table in tables:
            if table.frame.notna().any(axis=None):
                shown.append(embed_table(mark(table, "significant", runs), results, elsewhere))
            else:
                left_out += [
                    note for note in without_flags(table.notes, results) if note not in elsewhere
                ]
    return shown, left_out


def all_results(runs: Runs, results: pd.DataFrame) -> tuple[Markup, ...]:
    """Every result, with its flags."""
    return tuple(
        Markup(as_html(_with_flags(table))) for table in preset_tables("results", runs, results)
    )


def _with_flags(table: Table) -> Table:
    """The flags beside the numbers, and no notes: the page has them elsewhere."""
    flags = table.about["flags"].str.replace(";", " ").to_numpy()
    values = pd.DataFrame(flags, table.frame.index)
    return replace(table.with_columns([FLAGS], values, at=len(table.columns)), notes=())


def embed_table(table: Table, results: pd.DataFrame, elsewhere: Sequence[str] = ()) -> Markup:
    """A table as HTML that is already escaped.

    Args:
        table: to be shown.
        results: `results`, for intervals.
        elsewhere: notes that the page has in another place.
    """
    below = [note for note in without_flags(table.notes, results) if note not in elsewhere]
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
