"""Table 1 of the Twicing paper (ICLR 2025): clean images and three attacks."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN, condition_id

from ...merging.runs import Runs
from ..cells import CellSpec, fill
from ..table import Column, Table
from . import Choices, preset

TITLES = {"pgd": "PGD", "fgsm": "FGSM", "spsa": "SPSA"}
PAPER_BUDGETS = {"pgd": Fraction(4, 255), "fgsm": Fraction(4, 255), "spsa": Fraction(1, 255)}
"""Under which the paper's table was made, in normalised units."""


@preset("table1", has_budgets=True)
def table1(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """Clean, PGD, FGSM and SPSA; top-1 and top-5."""
    title = "Accuracy on clean and attacked images, percent"
    yield fill("table1", title, runs, rows, attack_columns(choices.budgets))


def attack_columns(budgets: Mapping[str, Fraction]) -> list[CellSpec]:
    """The columns of table 1, under these budgets or the paper's."""
    specs = both_accuracies(CLEAN, "Clean")
    for attack, budget in (PAPER_BUDGETS | dict(budgets)).items():
        condition = condition_id(attack, budget)
        specs += both_accuracies(condition, f"{TITLES[attack]} {condition.partition('@')[2]}")
    return specs


def both_accuracies(condition: str, head: str = "") -> list[CellSpec]:
    """Top-1 and top-5 under one condition."""
    metrics = {"top1": "top-1", "top5": "top-5"}
    return [
        CellSpec(Column(name, head, best="highest", metric=metric), condition)
        for metric, name in metrics.items()
    ]
