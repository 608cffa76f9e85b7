"""Tables in the forms of the Twicing paper (ICLR 2025), by name."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN, condition_id

from ..imagenet_c.corruption_error import Baseline
from ..merging.runs import Runs
from .all_results import all_results
from .cells import Need, blocks, fill, sheet_of
from .placements import layers_table
from .sheet import Column, Sheet
from .shifts import shifts_table
from .sweeps import sweep_tables

Budgets = Mapping[str, Fraction]
PAPER_BUDGETS: Budgets = {
    "pgd": Fraction(4, 255),
    "fgsm": Fraction(4, 255),
    "spsa": Fraction(1, 255),
}
"""Under which table 1 of the paper was made, in normalised units."""


class Choices(NamedTuple):
    """What may be chosen in a preset.

    Attributes:
        budgets: of each attack in ``table1`` and ``layers``.
        baseline: the normaliser of corruption errors, AlexNet unless given.
    """

    budgets: Budgets = PAPER_BUDGETS
    baseline: Baseline | None = None


def table1(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Sheet]:
    """Clean, PGD, FGSM and SPSA; top-1 and top-5."""
    title = "Accuracy on clean and attacked images, percent"
    yield sheet_of("table1", title, fill(runs, rows, attack_needs(choices.budgets)))


def featscale(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Sheet]:
    """Clean top-1 and top-5."""
    del choices
    yield sheet_of("featscale", "Accuracy on clean images, percent", fill(runs, rows, _both(CLEAN)))


def layers(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Sheet]:
    """As `table1`, for plain models and the placements of twicing layers."""
    yield from layers_table(runs, rows, attack_needs(choices.budgets))


def sweeps(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Sheet]:
    """Top-1 over the budgets of each attack, and the area under that curve."""
    del choices
    yield from sweep_tables(runs, rows)


def table2(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Sheet]:
    """Top-1 on ImageNet-R and -A, mCE and the mean CE of the four extra corruptions."""
    yield from shifts_table(runs, rows, choices.baseline)


def everything(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Sheet]:
    """All results, with intervals."""
    del choices
    yield from all_results(runs, rows)


Preset = Callable[[Runs, pd.DataFrame, Choices], Iterator[Sheet]]
PRESETS: dict[str, tuple[Preset, tuple[str, ...]]] = {
    "results": (everything, ("dataset", "protocol")),
    "table1": (table1, ("dataset", "protocol")),
    "table2": (table2, ("protocol",)),
    "featscale": (featscale, ("dataset", "protocol")),
    "layers": (layers, ("dataset", "protocol")),
    "sweeps": (sweeps, ("dataset", "protocol")),
}
"""Name to what makes the tables, and what all numbers of one table have in common."""


def preset_tables(
    name: str, runs: Runs, table: pd.DataFrame, choices: Choices | None = None
) -> list[Sheet]:
    """The tables of a preset, one or several for each data set and protocol; none that are empty.

    Args:
        name: of `PRESETS`.
        runs: merged runs.
        table: their `results`.
        choices: see `Choices`.

    Raises:
        UserError: a column would mix what cannot be compared.
    """
    make, by = PRESETS[name]
    chosen = choices or Choices()
    made = [sheet for rows in blocks(table, by) for sheet in make(runs, rows, chosen)]
    return [sheet for sheet in made if len(sheet.frame) and any(sheet.about["dataset"])]


def attack_needs(budgets: Budgets) -> list[Need]:
    """The columns of table 1."""
    titles = {"pgd": "PGD", "fgsm": "FGSM", "spsa": "SPSA"}
    found = _both(CLEAN, "Clean")
    for attack, title in titles.items():
        condition = condition_id(attack, budgets[attack])
        found += _both(condition, f"{title} {condition.partition('@')[2]}")
    return found


def _both(condition: str, head: str = "") -> list[Need]:
    metrics = {"top1": "top-1", "top5": "top-5"}
    return [
        Need(Column(name, head, best="highest", metric=metric), condition)
        for metric, name in metrics.items()
    ]
