"""From merged results to the cells of tables: one number from one entry, or a reason for none."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.identity import first_difference, images_identity

from ..merging.identity import entry_identity
from ..merging.runs import Entry, Runs
from ..metrics.notes import notes
from ..text.file_names import file_name
from .sheet import ABOUT, Column, Sheet


class Need(NamedTuple):
    """What a column shows: a metric of results.csv under one condition."""

    column: Column
    condition: str


class Cells(NamedTuple):
    """Rows of labels under columns of conditions.

    Attributes:
        columns: what each column shows.
        frame: values by label; NaN where there is none.
        entries: of each value, position of its entry; -1 where there is none.
        groups: of each label.
        about: columns `ABOUT` by label.
        notes: what must be known, missing and unscored cells first.
        used: the rows of the results that were used, once each.
    """

    columns: tuple[Column, ...]
    frame: pd.DataFrame
    entries: NDArray[np.int64]
    groups: tuple[str, ...]
    about: pd.DataFrame
    notes: tuple[str, ...]
    used: pd.DataFrame


def blocks(table: pd.DataFrame, by: Sequence[str] = ("dataset", "protocol")) -> list[pd.DataFrame]:
    """Rows that may stand in one table; the index keeps their positions in ``table``."""
    groups = table.groupby(list(by), sort=False, observed=True)
    return [rows for _, rows in groups]


def fill(runs: Runs, rows: pd.DataFrame, needs: Sequence[Need]) -> Cells:
    """Fill a table of labels and conditions.

    Args:
        runs: merged runs.
        rows: of their `results`, of one protocol.
        needs: the columns.

    Raises:
        UserError: a column that would mix what cannot be compared.
    """
    groups = _grouped(runs, rows)
    positions = np.full((len(groups), len(needs)), -1, np.int64)
    by_place = _by_place(rows)
    for column, need in enumerate(needs):
        for row, label in enumerate(groups):
            positions[row, column] = by_place.get((label, need.condition), -1)
        name = need.column.full_name or need.condition
        check_alike(runs, name, [int(each) for each in positions[:, column] if each >= 0])
    values = np.full(positions.shape, np.nan)
    for (row, column), position in np.ndenumerate(positions):
        if position >= 0:
            values[row, column] = rows.at[position, needs[column].column.metric]
    labels = pd.Index(list(groups), name="model")
    used = rows.loc[[int(each) for each in dict.fromkeys(positions[positions >= 0])]]
    said = [*_missing(rows, list(groups), needs, positions), *unscored(used)]
    said += [*_budgets(runs, used), *notes(runs, used)]
    return Cells(
        tuple(need.column for need in needs),
        pd.DataFrame(values, index=labels),
        positions,
        tuple(groups.values()),
        about(used, list(groups)),
        tuple(said),
        used,
    )


def sheet_of(name: str, title: str, cells: Cells, *, place: str | None = None) -> Sheet:
    """A table of these cells, named after what it is and what it is of.

    Args:
        name: what it is.
        title: one line.
        cells: of one data set and protocol, unless ``place`` says what they are of.
        place: what it is of.
    """
    places = [next(filter(None, cells.about[part]), "") for part in ABOUT[:2]]
    places = places if place is None else [place]
    frame = cells.frame.set_axis(pd.RangeIndex(cells.frame.shape[1]), axis=1)
    return Sheet(
        file_name(name, *places),
        title,
        frame,
        cells.columns,
        cells.about,
        cells.groups,
        cells.entries,
        notes=cells.notes,
    )


def backbone(entry: Entry) -> str:
    """The group of a model: its backbone, whatever variant of attention it has."""
    family = entry.evaluation.record.family
    variants = ("deit", "neutreno", "featscale", "attnscale", "twicing")
    if family.startswith("fan"):
        return "FAN"
    return "DeiT" if family.startswith(variants) else family


def about(used: pd.DataFrame, names: Sequence[Any], by: Sequence[str] = ("label",)) -> pd.DataFrame:
    """What every row of a table carries: `ABOUT`, as text.

    Args:
        used: rows of the results.
        names: of the rows: values of ``by``, tuples where these are several.
        by: columns of ``used`` that name a row.
    """
    keys = [
        key if len(key) > 1 else key[0] for key in zip(*(used[name] for name in by), strict=True)
    ]
    said = [_about_row(used[np.array([key == name for key in keys], bool)]) for name in names]
    return pd.DataFrame(said, columns=list(ABOUT), index=pd.Index(names))


def _about_row(own: pd.DataFrame) -> dict[str, str]:
    scored = own[own["status"] == "ok"]
    counts = sorted(set((own if scored.empty else scored)["n_images"]))
    images = dict.fromkeys([*counts[:1], *counts[-1:]])
    flags = dict.fromkeys(flag for cell in own["flags"] for flag in cell.split(";") if flag)
    return {
        "dataset": ", ".join(dict.fromkeys(own["dataset"])),
        "protocol": ", ".join(dict.fromkeys(own["protocol"])),
        "n_images": "-".join(str(count) for count in images),
        "seed": ", ".join(str(seed) for seed in dict.fromkeys(own["seed"])),
        "flags": ";".join(flags),
    }


def _grouped(runs: Runs, rows: pd.DataFrame) -> dict[str, str]:
    """Labels with their groups; members of a group stand together."""
    found = {
        str(label): backbone(runs.entries[int(str(position))])
        for position, label in rows.drop_duplicates("label")["label"].items()
    }
    order = list(dict.fromkeys(found.values()))
    return dict(sorted(found.items(), key=lambda item: order.index(item[1])))


def _by_place(rows: pd.DataFrame) -> dict[tuple[str, str], int]:
    twice = rows[rows.duplicated(["label", "condition"])]
    if len(twice):
        label, condition = twice.iloc[0][["label", "condition"]]
        own = rows[(rows["label"] == label) & (rows["condition"] == condition)]
        raise UserError(
            f"{label} has {condition} on {' and on '.join(own['dataset'])}; one cell cannot hold "
            "both, so report them separately"
        )
    places = zip(rows["label"], rows["condition"], strict=True)
    return dict(zip(places, (int(each) for each in rows.index), strict=True))


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
        one, other = runs.entries[positions[0]], runs.entries[position]
        found = first_difference(_treated(one), _treated(other))
        if found:
            raise UserError(
                f"column {name} would mix: {found.path} is "
                f"{found.old} for {one.evaluation.label} and {found.new} for "
                f"{other.evaluation.label}; report them separately"
            )


def _treated(entry: Entry) -> dict[str, Any]:
    condition = entry_identity(entry)
    condition.pop("seed", None)
    return {"dataset": images_identity(entry.evaluation.dataset), **condition}


def _missing(
    rows: pd.DataFrame, labels: Sequence[str], needs: Sequence[Need], positions: NDArray[np.int64]
) -> Iterator[str]:
    """Conditions that a label has not, with the budgets that there are instead."""
    lacking: dict[str, list[str]] = {}
    for row, column in zip(*np.nonzero(positions < 0), strict=True):
        own = lacking.setdefault(needs[int(column)].condition, [])
        if labels[int(row)] not in own:
            own.append(labels[int(row)])
    for condition, without in lacking.items():
        attack, at, _ = condition.partition("@")
        others = rows.loc[(rows["attack"] == attack) & rows["label"].isin(without), "condition"]
        there = dict.fromkeys(other.partition("@")[2] for other in others)
        has = f"; there is {', '.join(there)}" if at and there else ""
        yield f"{condition} was not run for {', '.join(without)}{has}."


def unscored(used: pd.DataFrame) -> Iterator[str]:
    """Which rows of the results have images missing, and so no accuracy."""
    for _, row in used[used["status"] == "incomplete"].iterrows():
        yield (
            f"{row['label']}: {row['condition']} is incomplete ({row['n_images']} images so far) "
            "and not scored."
        )


def _budgets(runs: Runs, used: pd.DataFrame) -> Iterator[str]:
    """What budgets in normalised units allow in pixels."""
    said: dict[str, None] = {}
    for position, row in used.iterrows():
        threat = runs.entries[int(str(position))].condition.threat
        if threat.space == "normalized" and row["eps_255"] > 0:
            said[f"{row['eps_255']:g}/255 at most {row['eps_pixel_255_max']:.3g}/255"] = None
    if said:
        yield f"In pixels, budgets in normalised units allow: {', '.join(said)}."
