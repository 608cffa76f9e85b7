"""What became of images that were moved towards a class: right, taken for it, or neither."""

from collections.abc import Iterator

import pandas as pd

from ...merging.runs import Runs
from ..cells import CellSpec, fill
from ..table import Column, Table
from . import Choices, preset

SHOWN = {
    "top1": Column("right", best="highest", metric="top1"),
    "goal_hit": Column("goal hit", best="lowest", metric="goal_hit"),
    "goal_hit_right": Column("goal hit of right", best="lowest", metric="goal_hit_right"),
}
"""Columns of results.csv, and what they are called here."""


@preset("targeted", on_page=True)
def targeted(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """Labels down; for each targeted attack and budget the three outcomes, which add up to 100."""
    del choices
    aimed = [runs.entries[position].condition.about.targeted for position in rows.index]
    conditions = list(dict.fromkeys(rows.loc[aimed, "condition"]))
    if not conditions:
        return
    specs = [
        CellSpec(column._replace(head=condition), condition)
        for condition in conditions
        for column in SHOWN.values()
    ]
    labels = rows["label"].isin(rows.loc[aimed, "label"])
    title = "Images that stay right, and images taken for the goal of the attack, percent"
    table = fill("targeted", title, runs, rows[labels], specs)
    for number, condition in reversed(list(enumerate(conditions))):
        at = len(SHOWN) * number
        column = Column("wrong otherwise", condition)
        # From the counts: 100 less two rounded percentages may fall below 0.
        counts = [runs.counts[entry] for entry in table.entries[:, at]]
        others = [100 * (of.scored - of.right - of.goal_hits) / max(1, of.scored) for of in counts]
        values = pd.Series(others, table.frame.index).where(table.frame[at].notna())
        table = table.with_columns([column], values.to_frame(), at=at + 2)
    yield table
