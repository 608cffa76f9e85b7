"""Placements of twicing layers beside each other and beside the plain model."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from robustbench_twicing.models.placement import split_placement

from ...merging.entry import Entry
from ...merging.runs import Runs
from ..cells import fill
from ..table import Column, Table
from . import Choices, preset
from .table1 import attack_columns

NO_LAYER, ALL_LAYERS = "none", "all"


@preset("layers", has_budgets=True)
def layers(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """As `table1`, for plain models and the placements of twicing layers; none without these."""
    first = rows.drop_duplicates("label")
    placed = {
        str(label): placement(runs.entries[int(str(position))])
        for position, label in first["label"].items()
    }
    if not set(placed.values()) - {None, NO_LAYER}:
        return
    compared = rows[rows["label"].map(lambda label: placed[label] is not None)]
    order = compared["label"].map(lambda label: -_count(placed[label] or ""))
    compared = compared.iloc[np.argsort(order.to_numpy(), kind="stable")]
    title = "Accuracy by placement of twicing layers, percent"
    table = fill("layers", title, runs, compared, attack_columns(choices.budgets))
    names = table.frame.index.to_series().map(placed).to_frame()
    yield table.with_columns([Column("layers", "Twicing", None)], names, at=0)


def placement(entry: Entry) -> str | None:
    """Which layers are twicing: ``10-12``, `ALL_LAYERS` or `NO_LAYER`; None for other variants."""
    record = entry.evaluation.record
    if record.about.twicing:
        return split_placement(record.model)[1] or ALL_LAYERS
    return NO_LAYER if record.about.plain else None


def _count(layers: str) -> float:
    """How many layers: plain models come first, then the more the earlier."""
    if layers in (NO_LAYER, ALL_LAYERS):
        return float("inf") if layers == NO_LAYER else 1e9
    ends = [item.partition("-") for item in layers.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)
