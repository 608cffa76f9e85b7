"""Results of one data set and protocol, and the attack that stands for all of them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from robustbench_twicing.conditions.condition import WORST, Condition

from ..metrics.sweeps import budget_curves, norm_under
from ..plots import attack_title

Attacks = Mapping[str, Condition]
HEADLINE = {"pixel": 1.0, "paper": 4.0, "l2": 0.5, "patch": 32.0}
"""By protocol, the number of a budget whose result is a headline: the nearest that was run."""
AT = {"linf": "{}/255", "l2": "L2 {}", "patch": "{} px"}
"""How budgets stand in a sentence, by their norm."""


class Place(NamedTuple):
    """Results of one data set under one protocol.

    Attributes:
        dataset, protocol: their names.
        rows: of `results`, with its index.
        attack: that stands for all; empty where none was scored.
        points: of that attack, as `budget_curves` gives them; ``entry`` is a position in ``rows``.
        budget: of the headline, a number of ``points``; 0 where there is no attack.
        condition: id of the attack at that budget; empty where there is none.
    """

    dataset: str
    protocol: str
    rows: pd.DataFrame
    attack: str
    points: pd.DataFrame
    budget: float
    condition: str

    @property
    def budgets(self) -> list[float]:
        """Of the attack, ascending, above 0."""
        return sorted({budget for budget in self.points["budget"] if budget > 0})

    def at(self, budget: float) -> str:
        """A budget in a sentence: ``1/255``, ``L2 0.5``, ``32 px``."""
        return AT[norm_under(self.protocol)].format(f"{budget:g}")

    def title(self, attacks: Attacks) -> str:
        """The attack's name in a sentence."""
        if self.attack == WORST:
            return "worst case"
        return attack_title(self.rows, self.attack, attacks)


def places(table: pd.DataFrame) -> Iterator[Place]:
    """The data sets and protocols of `results`, in order.

    The attack that stands for all is the worst case over all attacks, or, where a model has none,
    being attacked in one way only, the attack with the lowest mean accuracy. The budget is the one
    nearest to `HEADLINE`, so that neither is chosen by how a model fares.
    """
    for (dataset, protocol), rows in table.groupby(["dataset", "protocol"], sort=False):
        curves = budget_curves(rows)
        scored = curves[(curves["budget"] > 0) & (curves["status"] == "ok")]
        attack, budget, condition = "", 0.0, ""
        if len(scored):
            is_worst = scored["attack"] == WORST
            have_worst = set(scored["label"]) == set(scored.loc[is_worst, "label"])
            scored = scored[is_worst == have_worst]
            attack = str(scored.groupby("attack", sort=False)["top1"].mean().idxmin())
            scored = scored[scored["attack"] == attack]
            headline = HEADLINE.get(str(protocol), HEADLINE["pixel"])
            nearest = scored.iloc[int((scored["budget"] - headline).abs().argmin())]
            budget = float(nearest["budget"])
            condition = str(rows["condition"].iloc[int(nearest["entry"])])
        points = curves[curves["attack"] == attack]
        yield Place(str(dataset), str(protocol), rows, attack, points, budget, condition)
