"""Conditions: the things done to the images, each with a stable id."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from pydantic import ConfigDict, Field, SkipValidation

from ..data.imagenet import ClassList
from .budgets import Norm, format_budget
from .recorded import About, Budget, RecordedSource
from .threat_model import PIXEL, PROTOCOLS, ThreatModel

if TYPE_CHECKING:  # conditions are read from a run's records without torch
    from torch import Tensor

    from ..classifiers.classifier import Classifier
    from .attack_batch import AttackBatch

BACKWARD_COST = 2.0
"""A backward pass in forward passes, for estimates; with respect to the input only it is 1 to 2."""
CLEAN = "clean"
CLASS_SUBSET = "readout"
"""The attack of the clean forward pass over a class subset: none, and not the clean number."""
WORST = "worst"
"""The attack of the worst case over all others, which is made from their records."""
TRANSFER = "transfer"
"""The attack of images that were made on another network, and begins the id of each of them."""
EXPECTATION = "expectation"
"""The constant that says of how many draws of the network gradients are the mean; absent: one."""
RADIUS = "radius/"
"""Begins the id of an attack that finds distances, and has no budget."""


class Sweep(Protocol):
    """An attack over the budgets of one batch: yields one adversarial batch per budget, in order.

    What the budgets can share is computed once, inside. ``batch`` gives model, images, labels and
    random streams.
    """

    def __call__(
        self,
        batch: "AttackBatch",
        budgets: Sequence[Fraction],
        *,
        threat: ThreatModel,
        settings: Mapping[str, Any],
    ) -> "Iterator[Tensor]":
        """Adversarial pixels (N, 3, H, W) for each budget."""


CheckModel = Callable[[Mapping[str, Any], "Classifier"], None]
"""From an attack's constants and a model to nothing; a UserError if it cannot be attacked so."""


def any_model(settings: Mapping[str, Any], model: "Classifier") -> None:
    """For attacks that take every model."""


@dataclass(frozen=True)
class Condition:
    """One thing done to the images.

    Attributes:
        id: stable id, ``clean``, ``attack@budget``, ``radius/attack`` or ``imagenet-c/fog/3``.
        attack: name of the attack; ``clean`` for none, ``imagenet-c`` for a corruption,
            ``readout`` for the clean forward pass over a class subset.
        eps: budget in the threat model's own space; 0 for clean, and for an attack without one.
        protocol: name of the protocol the numbers belong to.
        threat: see `ThreatModel`.
        white_box: the attack follows gradients. The gradient at the clean images is then computed
            once per batch, for the attacks that can use it and for the diagnostics.
        settings: the attack's constants, recorded and part of its random streams.
        changed: those constants that are not the protocol's, with the protocol's value.
        sweep: the attack; None for clean. Conditions with one sweep and equal settings are run
            together.
        passes: images through the network forward and backward, per image, for the cost estimate;
            None where that is not known beforehand.
        clean_gradient: ``passes`` has the gradient at the clean images in it, which all attacks
            that follow it share; see `charges`.
        notes: sentences a reader of the numbers must know.
        flags: short marks that stay on the number (``200-way``).
        class_subset: the class list over whose logits the clean forward pass is scored once more,
            and whose images alone count. None for all other conditions.
        images: where the images come from that take the place of the clean ones. They are scored
            as they are: such a condition has no budget and no attack.
        about: see `About`.
        code_sha256: of a user's own attack or corruption, its code; empty for what is shipped.
        check_model: refuses models that it means nothing for, before anything is evaluated.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(arbitrary_types_allowed=True)

    id: str
    attack: str = CLEAN
    eps: Budget = Fraction(0)
    protocol: str = "pixel"
    threat: ThreatModel = PIXEL
    white_box: bool = False
    settings: Mapping[str, bool | int | float | str | None] = field(default_factory=dict)
    changed: Mapping[str, Any] = field(default_factory=dict)
    sweep: Annotated[Sweep | None, SkipValidation, Field(exclude=True)] = None
    passes: Annotated[tuple[int, int] | None, Field(exclude=True)] = (1, 0)
    clean_gradient: Annotated[bool, Field(exclude=True)] = False
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    class_subset: Annotated[ClassList | None, Field(alias="over")] = None  # its name in version 1
    images: RecordedSource = None
    about: About = field(default_factory=About)
    code_sha256: str = ""
    check_model: Annotated[CheckModel, SkipValidation, Field(exclude=True)] = any_model

    @property
    def units(self) -> float:
        """Known passes per image, in forward-pass equivalents."""
        forward, backward = self.passes or (1, 0)
        return forward + BACKWARD_COST * backward

    @property
    def expectation(self) -> int:
        """Of how many draws of the network the attack's gradients are the mean."""
        draws = self.settings.get(EXPECTATION, 1)
        return draws if isinstance(draws, int) else 1

    def averaging(self, draws: int) -> "Condition":
        """The same attack with gradients that are the mean of so many draws of the network.

        Args:
            draws: above 1.
        """
        forward, backward = self.passes or (1, 0)
        single = max(forward, 1 + backward)  # FGSM else follows the gradient of the clean pass
        return replace(
            self,
            settings={**self.settings, EXPECTATION: draws},
            changed={**self.changed, EXPECTATION: 1},
            passes=(single + (draws - 1) * backward, draws * backward),
        )

    def scored_in(self, draws: int) -> "Condition":
        """The same, with the passes of a run that scores every image in so many draws."""
        if self.passes is None:
            return self
        forward, backward = self.passes
        return replace(self, passes=(forward + draws - 1, backward))

    @property
    def is_attacked(self) -> bool:
        """Whether an attack on this network changes its images: no look at them or at others."""
        return self.attack not in (CLEAN, CLASS_SUBSET, TRANSFER) and self.images is None

    @property
    def is_transferred(self) -> bool:
        """Whether its images are those of an attack on another network."""
        return self.attack == TRANSFER

    @property
    def is_worst(self) -> bool:
        """Whether it is the worst case over attacks that were run."""
        return self.attack == WORST

    @property
    def is_sweep(self) -> bool:
        """Whether it is an attack at one budget, so that several are the points of a curve."""
        return self.is_attacked and not self.about.finds_radius

    @property
    def reach(self) -> float:
        """How far from the image an attack may go, in the threat model's own space."""
        return math.inf if self.about.finds_radius else float(self.eps)

    @property
    def key(self) -> str:
        """Unique in a run that has more than one protocol."""
        return f"{self.protocol}:{self.id}"


def condition_id(attack: str, eps: Fraction, norm: Norm = "linf") -> str:
    """Canonical id: ``pgd@4/255``, ``pgd@l2:0.5``, however the budget was written."""
    return f"{attack}@{format_budget(eps, norm)}"


def clean(protocol: str = "pixel") -> Condition:
    """The unattacked images."""
    return Condition(CLEAN, protocol=protocol, threat=PROTOCOLS[protocol].threat)


def sweep_groups(conditions: Sequence[Condition]) -> list[list[Condition]]:
    """Neighbouring conditions of one attack with the same constants; they run as one sweep."""
    groups: list[list[Condition]] = []
    for condition in conditions:
        last = groups[-1][-1] if groups else None
        if last is not None and condition.sweep is not None and _same_sweep(last, condition):
            groups[-1].append(condition)
        else:
            groups.append([condition])
    return groups


def _same_sweep(first: Condition, other: Condition) -> bool:
    return (
        first.sweep is other.sweep
        and first.protocol == other.protocol
        and first.attack == other.attack
        and first.threat == other.threat
        and first.settings == other.settings
    )
