"""Every result of a data set and protocol: the rows of results.csv as a table to read."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ...merging.runs import Runs
from ...metrics.notes import notes, remarks
from ...text.condition_names import with_short_names
from ...text.file_names import file_name
from ..cells import about, unscored
from ..table import Column, Table
from . import Choices, preset

SHOWN = {
    "top1": Column("top-1", metric="top1"),
    "top1_ci_low": Column("from", key="top1_ci_low"),
    "top1_ci_high": Column("to", key="top1_ci_high"),
    "top1_mean": Column("mean of draws"),
    "top1_sd": Column("their sd"),
    "top5": Column("top-5", metric="top5"),
    "robust_top1": Column("robust"),
    "goal_hit": Column("goal hit"),
    "linf_255_max": Column("change/255", digits=3),
    "status": Column("status", digits=None),
}
"""Columns of results.csv, and what they are called here."""
OPTIONAL = ("top1_mean", "top1_sd", "goal_hit")
"""Those that are left out where no row has anything there."""
PLACE = ("dataset", "protocol")
"""They name a row, too, where the rows are of several."""


@preset("results")
def all_results(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """One table: labels and conditions down, places where there are several; numbers across."""
    del choices
    rows = with_short_names(rows)
    absent = {"status"} if (rows["status"] == "ok").all() else set()
    absent |= {name for name in OPTIONAL if rows[name].isna().all()}
    shown = {name: column for name, column in SHOWN.items() if name not in absent}
    several = [name for name in PLACE if rows[name].nunique() > 1]
    keys = ["label", *several, "condition"]
    frame = rows.set_index(keys)[list(shown)]
    place = rows.iloc[0]
    yield Table(
        file_name("results", place["dataset"], place["protocol"]),
        "Accuracy, percent, with 95 % Wilson interval (from, to) of top-1",
        frame.rename_axis(["model", *keys[1:]]),
        tuple(shown.values()),
        about(rows, list(frame.index), keys),
        groups=tuple(str(label) for label in rows["label"]),
        entries=np.repeat(rows.index.to_numpy(np.int64)[:, None], len(shown), axis=1),
        notes=tuple(dict.fromkeys([*unscored(rows), *notes(runs, rows)])),
        remarks=remarks(runs, rows),
    )
