"""How far the nearest adversarial example is: medians, and areas under the exact curves."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN

from ...merging.runs import Runs
from ...metrics.radii import BEST, RECORD, RadiusCurve, radius_curves, radius_summaries
from ..cells import CellSpec, fill
from ..table import Column, Table
from . import Choices, preset

SOURCES = {
    RECORD: "nearest wrong row of the attacks",
    BEST: "nearest of all that was found",
}


@preset("radii")
def radii(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """Median distance and area under the curve, a table for each source of distances."""
    del choices
    curves = radius_curves(runs, rows)
    for source in dict.fromkeys(curve.source for curve in curves):
        yield _of_source(runs, rows, [curve for curve in curves if curve.source == source])


def _of_source(runs: Runs, rows: pd.DataFrame, curves: list[RadiusCurve]) -> Table:
    first = curves[0]
    labels = [curve.label for curve in curves]
    clean = CellSpec(Column("clean", best="highest", metric="top1"), CLEAN)
    unit = "/255" if first.norm == "linf" else ""
    title = f"Distance to the nearest adversarial example, {first.norm}{unit}"
    table = fill(
        f"radii-{first.source}",
        f"{title}: {SOURCES.get(first.source, first.source)}",
        runs,
        rows[rows["label"].isin(labels)],
        [clean],
    )
    summaries = radius_summaries(curves).set_index("label").reindex(table.frame.index)
    values = pd.DataFrame(
        {
            name: [
                f"> {reach:g}" if np.isinf(value) else f"{value:.3f}"
                for value, reach in zip(summaries[name], summaries["area_to"], strict=True)
            ]
            for name in ("median", "median_right")
        },
        table.frame.index,
    ).assign(area=summaries["area"], unknown=summaries["n_unknown"])
    columns = [
        Column("median", digits=None),
        Column("median of right", digits=None),
        Column(f"area 0-{first.reach:g}", best="highest"),
        Column("not found", digits=None),
    ]
    return table.with_columns(columns, values, at=1)
