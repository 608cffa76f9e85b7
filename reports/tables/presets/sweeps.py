"""Accuracy over the budgets of one attack, with the area under the curve."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN, WORST

from ...merging.runs import Runs
from ...metrics.row_flags import constants_in
from ...metrics.sweeps import area_under_curve, budget_curves, budget_name, norm_under
from ...metrics.worst import like_ensembles
from ..cells import CellSpec, fill
from ..table import Column, Table
from . import Choices, preset


@preset("sweeps", on_page=True)
def sweeps(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """Top-1 over the budgets of each attack, and the area under that curve."""
    del choices
    curves = budget_curves(rows)
    for attack in dict.fromkeys(curves["attack"]):
        for number, labels in enumerate(like_ensembles(runs, rows[rows["attack"] == attack]), 1):
            curve = curves[(curves["attack"] == attack) & curves["label"].isin(labels)]
            name = f"sweep-{attack}" if number == 1 else f"sweep-{attack}-{number}"
            yield _sweep(runs, rows, curve, str(attack), name)


def _sweep(runs: Runs, rows: pd.DataFrame, curve: pd.DataFrame, attack: str, name: str) -> Table:
    points = curve.drop_duplicates("budget").sort_values("budget")
    conditions = rows["condition"].iloc[points["entry"]]
    budgets = [float(budget) for budget in points["budget"]]
    protocol = str(points["protocol"].iloc[0])
    names = [budget_name(budget, protocol) if budget else CLEAN for budget in budgets]
    specs = [
        CellSpec(Column(name, best="highest", metric="top1"), str(condition))
        for name, condition in zip(names, conditions, strict=True)
    ]
    compared = rows[rows["label"].isin(list(curve["label"]))]
    table = fill(name, _title(attack), runs, compared, specs)
    mixed = _mixed(rows[rows["attack"] == attack])
    areas = [
        float("nan") if label in mixed else area_under_curve(budgets, list(values))
        for label, values in zip(table.frame.index, table.frame.to_numpy(), strict=True)
    ]
    area = Column(f"area {budgets[0]:g}-{budgets[-1]:g}", best="highest")
    unit = {"linf": " (x 255)", "l2": "", "patch": " px"}[norm_under(protocol)]
    explained = (
        f"area: mean top-1 over budgets {budgets[0]:g} to {budgets[-1]:g}{unit}, by trapezoids "
        "between the budgets shown; none where a budget is missing.",
        *(f"No area of {label}: its budgets are of {how}." for label, how in mixed.items()),
    )
    values = pd.DataFrame(areas, table.frame.index)
    extended = table.with_columns([area], values, at=len(specs))
    return replace(extended, notes=(*explained, *table.notes))


def _title(attack: str) -> str:
    under = "in the worst case of all attacks" if attack == WORST else f"under {attack}"
    return f"Top-1 accuracy {under}, percent"


def _mixed(rows: pd.DataFrame) -> dict[str, str]:
    """Labels whose budgets were attacked with unlike constants, and with which."""
    constants = rows.assign(constants=rows["flags"].fillna("").map(constants_in))
    by_label = constants.groupby("label", sort=False)["constants"].unique()
    return {str(label): " and ".join(names) for label, names in by_label.items() if len(names) > 1}
