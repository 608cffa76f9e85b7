"""The table of attacks: what each is, what it costs, and its constants under the protocol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from robustbench_twicing.conditions import Condition, Sweep, condition_id
from robustbench_twicing.registry import Registry
from robustbench_twicing.threat import PIXEL

from .fgsm import fgsm_sweep
from .pgd import REL_STEP, STEPS, pgd_sweep


@dataclass(frozen=True)
class AttackSpec:
    """One attack.

    Attributes:
        name: the acronym used in condition ids.
        sweep: the attack over the budgets of a batch.
        knowledge: what the attacker sees.
        source: address of the paper.
        passes: from settings to images forward and backward per image, the scoring pass included.
        settings: its constants.
        shares_gradient: all budgets use the gradient at the clean images.
        norm: the norm of its budget.
    """

    name: str
    sweep: Sweep
    knowledge: str
    source: str
    passes: Callable[[Mapping[str, Any]], tuple[int, int]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    shares_gradient: bool = False
    norm: str = "L-infinity"

    def condition(self, eps: Fraction) -> Condition:
        """The condition of this attack at one budget, protocol pixel."""
        return Condition(
            condition_id(self.name, eps),
            self.name,
            eps,
            threat=PIXEL,
            settings=self.settings,
            sweep=self.sweep,
            shares_gradient=self.shares_gradient,
            passes=self.passes(self.settings),
        )


ATTACKS: Registry[AttackSpec] = Registry("attack")
ATTACKS["fgsm"] = AttackSpec(
    "fgsm",
    fgsm_sweep,
    knowledge="white box, one gradient",
    source="https://arxiv.org/abs/1412.6572",
    passes=lambda settings: (1, 1),
    shares_gradient=True,
)
ATTACKS["pgd"] = AttackSpec(
    "pgd",
    pgd_sweep,
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/1706.06083",
    passes=lambda settings: (settings["steps"] + 1, settings["steps"]),
    settings={"steps": STEPS, "rel_step": REL_STEP, "random_start": True},
)
