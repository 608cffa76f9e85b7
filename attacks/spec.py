"""What an attack is to the rest of the suite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from torch import Tensor

from robustbench_twicing.conditions.condition import (
    RADIUS,
    CheckModel,
    Condition,
    Sweep,
    any_model,
    condition_id,
)
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import NORM_NAMES, PROTOCOLS
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.source_code import foreign_code_sha256
from robustbench_twicing.registry import Registry

Settings = Mapping[str, Any]
SCORING_PASSES = 1
"""Every adversarial image is scored; those that are scored rounded to 8 bits, too, come on top."""


@dataclass(frozen=True)
class AttackSpec:
    """One attack.

    Attributes:
        name: the acronym used in condition ids.
        sweep: the attack over the budgets of a batch.
        knowledge: what the attacker sees.
        source: address of the paper.
        passes: from settings to images forward and backward per image, for the attack alone; None
            where that is not known beforehand.
        clean_gradient: from settings to whether ``passes`` has the gradient at the clean images in
            it, which is computed once for all attacks and budgets that follow it.
        settings: its constants.
        choices: the words that a constant may be, where it is one of a few.
        under: constants that differ under a protocol, by the protocol's name.
        white_box: it follows gradients.
        contradiction: what is wrong with settings that are possible one by one; else empty.
        check_model: refuses models that it cannot attack under some settings.
        protocols: the protocols it can follow.
        library: the attacks of the library that it is from, with the protocols of each.
        notes: sentences a reader of its numbers must know.
        function: the attack on one batch at one budget, where it is one of the suite's own.
        about: what reports need to know of it.
        few_classes: from settings to `About.few_classes`, where that depends on them.
        shorts: options of `eval` that are short for ``--set`` of a constant, by the constant.
        draws: it draws random numbers.
        stops_early: it leaves images alone once they are fooled; ``passes`` is its cost at most.
        versions: by the words that its constant ``version`` may be beside its default, the attack
            that it then is.
    """

    name: str
    sweep: Sweep
    knowledge: str
    source: str
    passes: Callable[[Settings], tuple[int, int] | None] = lambda settings: None
    clean_gradient: Callable[[Settings], bool] = lambda settings: False
    settings: Settings = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    under: Mapping[str, Settings] = field(default_factory=dict)
    white_box: bool = False
    contradiction: Callable[[Settings], str] = lambda settings: ""
    check_model: CheckModel = any_model
    protocols: tuple[str, ...] = ("pixel", "paper")
    library: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    function: Callable[..., Tensor] | None = None
    about: About = field(default_factory=About)
    few_classes: Callable[[Settings], Mapping[str, int]] | None = None
    shorts: Mapping[str, str] = field(default_factory=dict)
    draws: bool = True
    stops_early: bool = False
    versions: Mapping[str, "AttackSpec"] = field(default_factory=dict)

    @property
    def norms(self) -> str:
        """The norms of its budgets, as readers know them."""
        norms = dict.fromkeys(PROTOCOLS[name].threat.norm for name in self.protocols)
        return ", ".join(NORM_NAMES[norm] for norm in norms)

    def condition(
        self,
        eps: Fraction = Fraction(0),
        protocol: str = "pixel",
        overrides: Settings | None = None,
    ) -> Condition:
        """The condition of this attack at one budget.

        Args:
            eps: budget in the protocol's own space; 0 for an attack that finds radii.
            protocol: a name in `PROTOCOLS`.
            overrides: constants in place of the protocol's; those it does not have are ignored.

        Raises:
            UserError: a protocol that is unknown, or that the attack cannot follow; or constants
                that contradict each other.
        """
        threat = PROTOCOLS[protocol].threat
        self.check_protocol(protocol)
        overrides = overrides or {}
        spec = self.versions.get(overrides.get("version", ""), self)
        defaults = {**self.settings, **self.under.get(protocol, {})}
        settings = {**spec.settings, **spec.under.get(protocol, {})}
        settings |= {name: value for name, value in overrides.items() if name in settings}
        if wrong := spec.contradiction(settings):
            raise UserError(f"attack {self.name}: {wrong}")
        about, passes = spec.about, spec.passes(settings)
        if spec.few_classes is not None:
            about = replace(about, few_classes=spec.few_classes(settings))
        return Condition(
            RADIUS + self.name
            if self.about.finds_radius
            else condition_id(self.name, eps, threat.norm),
            self.name,
            eps,
            protocol=protocol,
            threat=threat,
            settings=settings,
            changed={
                name: value
                for name, value in defaults.items()
                if name in overrides and settings[name] != value
            },
            sweep=self.sweep,
            white_box=self.white_box,
            passes=None if passes is None else (passes[0] + SCORING_PASSES, passes[1]),
            clean_gradient=spec.clean_gradient(settings),
            notes=self.notes,
            about=about,
            check_model=spec.check_model,
            code_sha256=foreign_code_sha256(self.function or self.sweep, self.sweep),
        )

    def check_protocol(self, protocol: str) -> None:
        """Refuse a protocol that the attack cannot follow.

        Args:
            protocol: a name in `PROTOCOLS`.

        Raises:
            UserError: naming those it can follow, and attacks that can follow this one.
        """
        if protocol in self.protocols:
            return
        followers = [name for name, known in self.library.items() if protocol in known]
        whose = self.name.partition(":")[0]
        if not followers:
            followers = [name for name, spec in ATTACKS.items() if protocol in spec.protocols]
            whose = "this suite"
        alone = f"; give --protocol {self.protocols[0]}" if len(self.protocols) == 1 else ""
        raise UserError(
            f"attack {self.name} cannot follow protocol {protocol}; "
            f"it knows {', '.join(self.protocols)}{alone}. Those of {whose} that can: "
            f"{', '.join(followers)}"
        )


ATTACKS: Registry[AttackSpec] = Registry("attack")
"""Every declared attack by its name."""
