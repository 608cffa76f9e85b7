"""Free tables: any columns of results.csv as rows, columns and values."""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype

from robustbench_twicing.errors import UserError
from robustbench_twicing.registry import did_you_mean

from ..merging.runs import Runs
from ..metrics.notes import notes, remarks
from ..metrics.results import COLUMNS
from ..text.condition_names import with_short_names
from ..text.file_names import file_name
from .cells import about, blocks, check_alike, unscored
from .table import Best, Column, Table, name_of

PERCENT = ("top1", "top5", "top1_ci_low", "top1_ci_high", "robust_top1")
MEASURED = {"linf_255_max": 3, "seconds": 1, "eps_255": 3, "eps_pixel_255_max": 3}
MEANT = {
    **dict.fromkeys(("accuracy", "acc", "top-1", "acc1", "acc@1"), "top1"),
    **dict.fromkeys(("top-5", "acc5", "acc@5"), "top5"),
    **dict.fromkeys(("robust", "robust_accuracy"), "robust_top1"),
    **dict.fromkeys(("budget", "epsilon"), "eps"),
    **dict.fromkeys(("data", "data_set"), "dataset"),
    **dict.fromkeys(("name", "network"), "label"),
    "images": "n_images",
}
"""Columns by other names that people have for them."""
SPLIT = ("dataset", "protocol")
"""Numbers that differ in these are in tables of their own, unless columns (or rows) say them."""
NORM = "norm"
"""And those that differ in this always are: budgets of two norms are not comparable."""


def pivot_tables(
    runs: Runs,
    table: pd.DataFrame,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[str],
) -> list[Table]:
    """Tables with one number a cell; never a mean of several.

    Args:
        runs: merged runs.
        table: their `results`.
        rows: columns of results.csv that name the rows.
        columns: columns of results.csv that name the columns.
        values: columns of results.csv that are shown.

    Raises:
        UserError: an unknown or repeated name, protocols that would share a column, or several
            results for one cell; the message says which.
    """
    _check_names([*rows, *columns, *values], rows=rows, columns=columns, values=values)
    if "protocol" in rows:
        raise UserError(
            "protocols never share a column, so protocol cannot be among --rows; put it among "
            "--columns, or leave it out for tables of their own"
        )
    table = with_short_names(table)
    split = [*(name for name in SPLIT if name not in (*rows, *columns)), NORM]
    place = split if "protocol" in columns and table[NORM].nunique() > 1 else split[:-1]
    parts = blocks(table, split)
    return [_pivot(runs, part, rows, columns, values, place) for part in parts if len(part)]


def _check_names(names: Sequence[str], **options: Sequence[str]) -> None:
    for option, given in options.items():
        if not given:
            raise UserError(f"--{option} is empty; name columns of results.csv, like label")
    for name in names:
        if name not in COLUMNS:
            hint = did_you_mean(MEANT.get(name, name), COLUMNS)
            known = ", ".join(COLUMNS)
            raise UserError(f"results.csv has no column {name!r}.{hint} It has {known}")
        if list(names).count(name) > 1:
            raise UserError(
                f"{name} is named twice in --rows, --columns and --values; name it once"
            )


def _pivot(
    runs: Runs,
    part: pd.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[str],
    place: Sequence[str],
) -> Table:
    """Of results that may share a table; columns ``place`` tell its file from the others'."""
    _check_one_each(part, rows, columns)
    if "dataset" not in rows:
        for same in blocks(part, ["protocol", "condition", "dataset"]):
            check_alike(runs, str(same["condition"].iloc[0]), [int(entry) for entry in same.index])
    heads, names = (part[list(keys)].drop_duplicates() for keys in (columns, rows))
    cells = part.assign(entry=part.index).pivot(
        index=list(rows), columns=list(columns), values=[*values, "entry"]
    )
    keys = list(heads.itertuples(index=False, name=None))
    index = [row if len(rows) > 1 else row[0] for row in names.itertuples(index=False, name=None)]
    order = [(value, *key) for key in keys for value in values]
    frame = cells.reindex(index=index)[order]
    counts = {name for name in values if is_integer_dtype(part[name])}
    frame = frame.astype({column: "Int64" for column in order if column[0] in counts})
    entries = cells.reindex(index=index)[[("entry", *key) for key in keys for _ in values]]
    return Table(
        file_name("table", *values, *(str(part[name].iloc[0]) for name in place)),
        f"{', '.join(values)} by {', '.join(rows)} and {', '.join(columns)}",
        frame,
        tuple(
            _column(", ".join(map(name_of, key, columns)), value, rows, single=len(values) == 1)
            for key in keys
            for value in values
        ),
        about(part, index, rows),
        entries=entries.fillna(-1).to_numpy(np.int64),
        notes=tuple(dict.fromkeys([*unscored(part), *notes(runs, part)])),
        remarks=remarks(runs, part),
    )


def _column(place: str, value: str, rows: Sequence[str], *, single: bool) -> Column:
    digits = 2 if value in PERCENT else MEASURED.get(value)
    best: Best = "highest" if list(rows) == ["label"] and value in PERCENT else ""
    name, head = (place, value) if single else (value, place)
    return Column(name, head, digits, best, value)


def _check_one_each(part: pd.DataFrame, rows: Sequence[str], columns: Sequence[str]) -> None:
    places = [*rows, *columns]
    twice = part[part.duplicated(places, keep=False)]
    if twice.empty:
        return
    first = twice.iloc[0]
    is_same = (twice[places] == first[places]) | (twice[places].isna() & first[places].isna())
    same = twice[is_same.all(axis=1)]
    about = takewhile(lambda name: name != "top1", COLUMNS)
    differ = [name for name in about if same[name].astype(str).nunique() > 1]
    where = ", ".join(
        f"no {name}" if pd.isna(first[name]) else f"{name} {first[name]}" for name in places
    )
    raise UserError(
        f"{len(same)} results would share the cell of {where}; they differ in "
        f"{', '.join(differ)}: add one of these to --rows or --columns"
    )
