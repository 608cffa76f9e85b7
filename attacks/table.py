"""The table of attacks: what each is, what it costs, and its constants under each protocol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from robustbench_twicing.conditions import Condition, Sweep, condition_id
from robustbench_twicing.protocols import PROTOCOLS
from robustbench_twicing.registry import Registry

from .fgsm import fgsm_sweep
from .noise import noise_sweep
from .pgd import REL_STEP, pgd_sweep
from .pgd import STEPS as PGD_STEPS
from .spsa import DELTA, LEARNING_RATE, SAMPLES, spsa_sweep
from .spsa import STEPS as SPSA_STEPS

Settings = Mapping[str, Any]
SCORING_PASSES = 2
"""Every adversarial image is scored as it is and rounded to 8 bits."""


@dataclass(frozen=True)
class AttackSpec:
    """One attack.

    Attributes:
        name: the acronym used in condition ids.
        sweep: the attack over the budgets of a batch.
        knowledge: what the attacker sees.
        source: address of the paper.
        passes: from settings to images forward and backward per image, for the attack alone.
        settings: its constants.
        under: constants that differ under a protocol, by the protocol's name.
        white_box: it follows gradients.
        norm: the norm of its budget.
    """

    name: str
    sweep: Sweep
    knowledge: str
    source: str
    passes: Callable[[Settings], tuple[int, int]]
    settings: Settings = field(default_factory=dict)
    under: Mapping[str, Settings] = field(default_factory=dict)
    white_box: bool = False
    norm: str = "L-infinity"

    def condition(
        self, eps: Fraction, protocol: str = "pixel", overrides: Settings | None = None
    ) -> Condition:
        """The condition of this attack at one budget.

        Args:
            eps: budget in the protocol's own space.
            protocol: a name in `PROTOCOLS`.
            overrides: constants in place of the protocol's; those it does not have are ignored.
        """
        own = {**self.settings, **self.under.get(protocol, {})}
        known = {name: each for name, each in (overrides or {}).items() if name in own}
        settings = {**own, **known}
        forward, backward = self.passes(settings)
        return Condition(
            condition_id(self.name, eps),
            self.name,
            eps,
            protocol=protocol,
            threat=PROTOCOLS[protocol].threat,
            settings=settings,
            changed={name: own[name] for name in own if settings[name] != own[name]},
            sweep=self.sweep,
            white_box=self.white_box,
            passes=(forward + SCORING_PASSES, backward),
        )


ATTACKS: Registry[AttackSpec] = Registry("attack")
ATTACKS["fgsm"] = AttackSpec(
    "fgsm",
    fgsm_sweep,
    knowledge="white box, one gradient",
    source="https://arxiv.org/abs/1412.6572",
    passes=lambda settings: (0, 1),
    white_box=True,
)
ATTACKS["pgd"] = AttackSpec(
    "pgd",
    pgd_sweep,
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/1706.06083",
    passes=lambda settings: (settings["steps"], settings["steps"]),
    white_box=True,
    settings={"steps": PGD_STEPS, "rel_step": REL_STEP, "random_start": True},
)
ATTACKS["spsa"] = AttackSpec(
    "spsa",
    spsa_sweep,
    knowledge="black box, logits",
    source="https://arxiv.org/abs/1802.05666",
    passes=lambda settings: (2 * settings["samples"] * settings["steps"], 0),
    settings={
        "steps": SPSA_STEPS,
        "samples": SAMPLES,
        "learning_rate": LEARNING_RATE,
        "delta": DELTA,
        "estimate_at": "iterate",
    },
    under={"paper": {"estimate_at": "twice-the-image"}},
)
ATTACKS["noise"] = AttackSpec(
    "noise",
    noise_sweep,
    knowledge="none, random signs",
    source="a control, not an attack",
    passes=lambda settings: (0, 0),
)
