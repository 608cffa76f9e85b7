"""The worst case over all attacks beside each of them, and what one attack alone broke."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustbench_twicing.conditions.condition import CLEAN, WORST

from ...merging.ensembles import ensembles
from ...merging.runs import Runs
from ...metrics.broken_alone import broken_alone
from ...metrics.notes import notes, remarks
from ...metrics.worst import like_ensembles
from ...text.file_names import file_name
from ..cells import about, check_alike, rows_of, unscored
from ..table import Column, Table
from . import Choices, preset

EXPLAINED = (
    "worst: top-1 where an image counts as right only if no attack breaks it, at the budget or a "
    "smaller one. only: images that are right before and that this attack alone breaks, at the "
    "budget or a smaller one; empty where an attack was not scored on all images."
)


@preset("worst", on_page=True)
def worst(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """Budgets and labels down; clean images, each attack and the worst case across."""
    del choices
    for number, labels in enumerate(like_ensembles(runs, rows[rows["attack"] == WORST]), 1):
        name = "worst" if number == 1 else f"worst-{number}"
        yield _table(runs, rows[rows["label"].isin(labels)], name)


def _table(runs: Runs, rows: pd.DataFrame, name: str) -> Table:
    """Of labels whose attacks are the same."""
    conditions = {int(str(row)): runs.entries[int(str(row))].condition for row in rows.index}
    worst_rows = [row for row, condition in conditions.items() if condition.attack == WORST]
    worst_rows.sort(key=lambda row: conditions[row].eps)
    attacks = list(
        dict.fromkeys(
            conditions[row].attack
            for row in conditions
            if conditions[row].is_attacked and conditions[row].attack != WORST
        )
    )
    columns = [CLEAN, *attacks, WORST]
    places = {
        (rows.at[row, "label"], condition.attack, condition.eps): row
        for row, condition in conditions.items()
    }
    entries = np.full((len(worst_rows), len(columns)), -1)
    for line, row in enumerate(worst_rows):
        for column, attack in enumerate(columns):
            eps = Fraction(0) if attack == CLEAN else conditions[row].eps
            entries[line, column] = places.get((rows.at[row, "label"], attack, eps), -1)
    budgets = list(rows.loc[worst_rows, "eps"])
    for budget in dict.fromkeys(budgets):
        same = entries[np.array(budgets) == budget]
        for column, attack in enumerate(columns):
            check_alike(runs, attack, [int(row) for row in same[:, column] if row >= 0])
    index = pd.MultiIndex.from_arrays(
        [budgets, list(rows.loc[worst_rows, "label"])], names=["budget", "model"]
    )
    top1 = rows["top1"].reindex(entries.ravel()).to_numpy().reshape(entries.shape)
    used = rows_of(rows, entries)
    place = rows.iloc[0]
    table = Table(
        file_name(name, place["dataset"], place["protocol"]),
        "Top-1 accuracy under each attack and in the worst case of all, percent",
        pd.DataFrame(top1, index),
        tuple(Column(attack, best="highest", metric="top1") for attack in columns),
        _about(rows, entries, index),
        groups=tuple(budgets),
        entries=entries,
        notes=tuple(dict.fromkeys([EXPLAINED, *unscored(used), *notes(runs, used)])),
        remarks=remarks(runs, used),
    )
    counts = tuple(Column(attack, "only", digits=0) for attack in attacks)
    alone = pd.DataFrame(_alone(runs, worst_rows, rows["status"]), index, columns=attacks)
    return table.with_columns(counts, alone, at=len(columns))


def _about(rows: pd.DataFrame, entries: NDArray[np.int64], index: pd.MultiIndex) -> pd.DataFrame:
    """What must be known of all numbers of a line."""
    of_lines = [
        rows.loc[line[line >= 0]].assign(budget=budget)
        for line, (budget, _) in zip(entries, index, strict=True)
    ]
    return about(pd.concat(of_lines), list(index), ("budget", "label"))


def _alone(
    runs: Runs, worst_rows: Sequence[int], status: "pd.Series[str]"
) -> list[dict[str, int | None]]:
    """Images that each attack alone breaks; none where some attack was not scored on all images."""
    alone_by_row = []
    for row, alone in zip(worst_rows, broken_alone(runs, worst_rows), strict=True):
        eps, members = runs.entries[row].condition.eps, ensembles(runs)[runs.entries[row].key[:3]]
        counting = [member for member in members if members[member].condition.eps <= eps]
        is_known = (status.loc[counting] == "ok").all()
        alone_by_row.append({name: count if is_known else None for name, count in alone.items()})
    return alone_by_row
