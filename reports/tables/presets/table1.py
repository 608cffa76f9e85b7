"""Table 1 of the Twicing paper (ICLR 2025): clean images and three attacks."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN, condition_id

from ...merging.runs import Runs
from ..cells import Need, fill, sheet_of
from ..sheet import Column, Sheet
from . import Choices, preset

TITLES = {"pgd": "PGD", "fgsm": "FGSM", "spsa": "SPSA"}
PAPER_BUDGETS = {"pgd": Fraction(4, 255), "fgsm": Fraction(4, 255), "spsa": Fraction(1, 255)}
"""Under which the paper's table was made, in normalised units."""


@preset("table1", has_budgets=True)
def table1(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Sheet]:
    """Clean, PGD, FGSM and SPSA; top-1 and top-5."""
    title = "Accuracy on clean and attacked images, percent"
    yield sheet_of("table1", title, fill(runs, rows, attack_needs(choices.budgets)))


def attack_needs(budgets: Mapping[str, Fraction]) -> list[Need]:
    """The columns of table 1, under these budgets or the paper's."""
    needs = both_accuracies(CLEAN, "Clean")
    for attack, budget in (PAPER_BUDGETS | dict(budgets)).items():
        condition = condition_id(attack, budget)
        needs += both_accuracies(condition, f"{TITLES[attack]} {condition.partition('@')[2]}")
    return needs


def both_accuracies(condition: str, head: str = "") -> list[Need]:
    """Top-1 and top-5 under one condition."""
    metrics = {"top1": "top-1", "top5": "top-5"}
    return [
        Need(Column(name, head, best="highest", metric=metric), condition)
        for metric, name in metrics.items()
    ]
