"""What a suite may say: attacks with budgets and constants, corruptions, data sets."""

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from ...data.imagenet_c import SEVERITIES, parse_corruptions
from ...data.known_sets.table import known_set
from ...errors import UserError
from ..budgets import parse_budget
from ..threat_model import PROTOCOLS, norm_of

CLEAN = "clean"
CONTROL_BUDGET = Fraction(64, 255)
"""In pixels; hardly any network stands here, so a suite asks for it as a check of the attack."""


def _budget(value: object, info: ValidationInfo) -> Fraction:
    """Of the norm of the condition's own protocol, or of the suite's, which the context says."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("a budget is written like 4/255")
    protocol = str(info.data.get("protocol") or (info.context or {}).get("protocol"))
    norm = norm_of(protocol) if protocol in PROTOCOLS else "linf"
    try:
        return parse_budget(str(value), norm)
    except UserError as error:
        raise ValueError(str(error)) from error


def _corruptions(value: object) -> tuple[str, ...]:
    """Names, of which ``main``, ``extra`` and ``all`` stand for many; one may stand alone."""
    names = value if isinstance(value, (list, tuple)) else [value]
    texts = [name for name in names if isinstance(name, str)]
    if not texts or len(texts) < len(names):
        raise ValueError("a corruption is a name, like fog, or a list of names")
    try:
        return parse_corruptions(",".join(texts))
    except UserError as error:
        raise ValueError(str(error)) from error


def _severities(value: object) -> tuple[int, ...]:
    """Whole numbers; one may stand alone."""
    numbers = value if isinstance(value, (list, tuple)) else [value]
    if not numbers or not all(type(number) is int and number in SEVERITIES for number in numbers):
        raise ValueError("a severity is a whole number from 1 to 5, or a list of them")
    return tuple(dict.fromkeys(numbers))


def _dataset(name: str | None) -> str | None:
    try:
        known = None if name is None else known_set(name)
    except UserError as error:
        raise ValueError(str(error)) from error
    if known is not None and not known.shifted:
        raise ValueError(f"{name} needs no dataset: it is the clean one")
    return None if known is None else known.name


ProtocolName = Literal["pixel", "paper", "l2", "patch"]
Budget = Annotated[Fraction, BeforeValidator(_budget)]


class SuiteItem(BaseModel):
    """One attack with its budgets and constants, or corruptions with their severities.

    Attributes:
        attack: a name in the table of attacks, or ``clean``, which has no budgets and constants.
        eps: budgets, in the protocol's own space.
        protocol: another protocol than the suite's.
        settings: constants in place of the protocol's.
        corruption: names of ImageNet-C, in place of an attack.
        severity: of these corruptions; all five unless given.
        dataset: of the attack, where it is not the clean one: ``imagenet-a``. Unattacked
            (``clean``) its images are the condition ``imagenet-a``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    attack: str | None = None
    protocol: ProtocolName | None = None
    eps: tuple[Budget, ...] = ()
    settings: dict[str, bool | int | float | str] = Field(default_factory=dict)
    corruption: Annotated[tuple[str, ...], BeforeValidator(_corruptions)] = ()
    severity: Annotated[tuple[int, ...], BeforeValidator(_severities)] = SEVERITIES
    dataset: Annotated[str | None, AfterValidator(_dataset)] = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.attack is None) != bool(self.corruption):
            raise ValueError("a condition names either an attack or corruptions")
        if self.corruption and self.model_fields_set - {"corruption", "severity"}:
            raise ValueError("corruptions take severity and nothing else: they have no budget")
        if self.attack is not None and "severity" in self.model_fields_set:
            raise ValueError("severity belongs to corruption, not to an attack")
        if (self.attack or "").lower() == CLEAN and (self.eps or self.settings):
            raise ValueError("clean takes no budgets and no constants")
        return self


class Suite(BaseModel):
    """An ordered list of conditions under one protocol.

    Attributes:
        protocol: of all conditions that name no other.
        include: names of suites whose conditions come first, each under its own suite's protocol;
            what several of them have comes once.
        conditions: in order.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    protocol: ProtocolName = "pixel"
    include: tuple[str, ...] = ()
    conditions: tuple[SuiteItem, ...] = ()

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if not self.include and not self.conditions:
            raise ValueError("a suite has at least one condition")
        return self

    def budgets(self, attack: str) -> tuple[Fraction, ...]:
        """The attack's budgets here; for an attack that is not here, those of all others.

        A budget that is there to show masked gradients is its own attack's alone, as long as there
        are others.
        """
        of_attack = [eps for item in self.conditions if item.attack == attack for eps in item.eps]
        of_all = [eps for item in self.conditions for eps in item.eps]
        is_linf = norm_of(self.protocol) == "linf"
        small = [eps for eps in of_all if is_linf and eps < CONTROL_BUDGET]
        return tuple(dict.fromkeys(of_attack or small or of_all))
