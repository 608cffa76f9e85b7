"""From merged results to the cells of tables: one number from one entry, or a reason for none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.printable import count
from robustbench_twicing.records.identity import first_difference, images_identity

from ..merging.entry import Entry
from ..merging.identity import entry_identity
from ..merging.runs import Runs
from ..metrics.notes import notes, remarks
from ..text.file_names import file_name
from .table import ABOUT, Column, Table


class CellSpec(NamedTuple):
    """What a column shows: a metric of results.csv under one condition."""

    column: Column
    condition: str


def blocks(table: pd.DataFrame, by: Sequence[str]) -> list[pd.DataFrame]:
    """Rows that may stand in one table; the index keeps their positions in ``table``."""
    return [rows for _, rows in table.groupby(list(by), sort=False, observed=True)]


def fill(name: str, title: str, runs: Runs, rows: pd.DataFrame, specs: Sequence[CellSpec]) -> Table:
    """A table of labels under conditions; missing and unscored cells are noted first.

    Args:
        name: what it is; the data set and protocol are added to the file's name.
        title: one line.
        runs: merged runs.
        rows: of their `results`, of one protocol.
        specs: the columns.

    Raises:
        UserError: a column that would mix what cannot be compared.
    """
    groups = _grouped(runs, rows)
    positions = np.full((len(groups), len(specs)), -1, np.int64)
    by_place = _by_place(rows)
    for column, spec in enumerate(specs):
        for row, label in enumerate(groups):
            positions[row, column] = by_place.get((label, spec.condition), -1)
        shown = [int(position) for position in positions[:, column] if position >= 0]
        check_alike(runs, spec.column.full_name or spec.condition, shown)
    values = np.full(positions.shape, np.nan)
    for (row, column), position in np.ndenumerate(positions):
        if position >= 0:
            values[row, column] = rows.at[position, specs[column].column.metric]
    used = rows_of(rows, positions)
    described = about(used, list(groups))
    places = [next(filter(None, described[part]), "") for part in ABOUT[:2]]
    return Table(
        file_name(name, *places),
        title,
        pd.DataFrame(values, index=pd.Index(list(groups), name="model")),
        tuple(spec.column for spec in specs),
        described,
        tuple(groups.values()),
        positions,
        notes=(
            *_missing(rows, list(groups), specs, positions),
            *unscored(used),
            *_budgets(runs, used),
            *notes(runs, used),
        ),
        remarks=remarks(runs, used),
    )


def rows_of(rows: pd.DataFrame, positions: NDArray[np.int64]) -> pd.DataFrame:
    """The rows of the results that cells are from, once each."""
    return rows.loc[list(dict.fromkeys(positions[positions >= 0].tolist()))]


def backbone(entry: Entry) -> str:
    """The group of a model: its backbone, whatever variant of attention it has."""
    record = entry.evaluation.record
    return record.about.backbone or record.family


def about(used: pd.DataFrame, names: Sequence[Any], by: Sequence[str] = ("label",)) -> pd.DataFrame:
    """What every row of a table carries: `ABOUT`, as text.

    Args:
        used: rows of the results.
        names: of the rows: values of ``by``, tuples where these are several.
        by: columns of ``used`` that name a row.
    """
    rows: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
    shown = used[[*ABOUT, "status"]].to_dict("records")
    for key, row in zip(zip(*(used[name] for name in by), strict=True), shown, strict=True):
        rows.setdefault(_key(key), []).append(row)
    keys = names if len(by) > 1 else [(name,) for name in names]
    parts = [_about_row(rows.get(_key(key), [])) for key in keys]
    return pd.DataFrame(parts, columns=list(ABOUT), index=pd.Index(names))


def _key(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Values by which rows are looked up; NaN, which equals nothing, as None."""
    return tuple(None if pd.isna(part) else part for part in parts)


def _about_row(results: Sequence[Mapping[Any, Any]]) -> dict[str, str]:
    scored = [row for row in results if row["status"] == "ok"]
    counts = sorted({row["n_images"] for row in scored or results})
    images = dict.fromkeys([*counts[:1], *counts[-1:]])
    flags = dict.fromkeys(flag for row in results for flag in row["flags"].split(";") if flag)
    texts = {
        name: ", ".join(dict.fromkeys(str(row[name]) for row in results))
        for name in ("dataset", "protocol", "seed")
    }
    return texts | {"n_images": "-".join(map(str, images)), "flags": ";".join(flags)}


def _grouped(runs: Runs, rows: pd.DataFrame) -> dict[str, str]:
    """Labels with their groups; members of a group stand together."""
    groups = {
        str(label): backbone(runs.entries[int(str(position))])
        for position, label in rows.drop_duplicates("label")["label"].items()
    }
    order = list(dict.fromkeys(groups.values()))
    return dict(sorted(groups.items(), key=lambda item: order.index(item[1])))


def _by_place(rows: pd.DataFrame) -> dict[tuple[str, str], int]:
    twice = rows[rows.duplicated(["label", "condition"])]
    if len(twice):
        label, condition = twice.iloc[0][["label", "condition"]]
        both = rows[(rows["label"] == label) & (rows["condition"] == condition)]
        raise UserError(
            f"{label} has {condition} on {' and on '.join(both['dataset'])}; one cell cannot hold "
            "both, so report them separately"
        )
    places = zip(rows["label"], rows["condition"], strict=True)
    return dict(zip(places, map(int, rows.index), strict=True))


def check_alike(runs: Runs, name: str, positions: Sequence[int]) -> None:
    """Numbers of one column are of the same images, treated alike; seeds may differ, and are said.

    Args:
        runs: merged runs.
        name: of the column.
        positions: of the entries in it.

    Raises:
        UserError: with the first difference.
    """
    for position in positions[1:]:
        first, second = runs.entries[positions[0]], runs.entries[position]
        difference = first_difference(_treated(first), _treated(second))
        if difference:
            raise UserError(
                f"column {name} would mix: "
                f"{difference.between(f'for {first.label}', f'for {second.label}')}; "
                "report them separately"
            )


def _treated(entry: Entry) -> dict[str, Any]:
    condition = entry_identity(entry)
    condition.pop("seed", None)
    return {"dataset": images_identity(entry.evaluation.dataset), **condition}


def _missing(
    rows: pd.DataFrame,
    labels: Sequence[str],
    specs: Sequence[CellSpec],
    positions: NDArray[np.int64],
) -> Iterator[str]:
    """Conditions that a label has not, with the budgets that there are instead."""
    lacking: dict[str, list[str]] = {}
    for row, column in zip(*np.nonzero(positions < 0), strict=True):
        without = lacking.setdefault(specs[int(column)].condition, [])
        if labels[int(row)] not in without:
            without.append(labels[int(row)])
    for condition, without in lacking.items():
        attack, at, _ = condition.partition("@")
        others = rows.loc[(rows["attack"] == attack) & rows["label"].isin(without), "condition"]
        budgets = dict.fromkeys(name.partition("@")[2] for name in others)
        instead = f"; there is {', '.join(budgets)}" if at and budgets else ""
        yield f"{condition} was not run for {', '.join(without)}{instead}."


def unscored(used: pd.DataFrame) -> Iterator[str]:
    """Which rows of the results have images missing, and so no accuracy."""
    for _, row in used[used["status"] == "incomplete"].iterrows():
        yield (
            f"{row['label']}: {row['condition']} is incomplete "
            f"({count(row['n_images'], 'image')} so far) and not scored."
        )


def _budgets(runs: Runs, used: pd.DataFrame) -> Iterator[str]:
    """What budgets in normalised units allow in pixels."""
    limits: dict[str, None] = {}
    for position, row in used.iterrows():
        threat = runs.entries[int(str(position))].condition.threat
        if threat.space == "normalized" and row["eps_255"] > 0:
            limits[f"{row['eps_255']:g}/255 at most {row['eps_pixel_255_max']:.3g}/255"] = None
    if limits:
        yield f"In pixels, budgets in normalised units allow: {', '.join(limits)}."
