"""Threat models: what an attack may do, and the protocols that name them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..registry import Registry
from .budgets import Norm

TOLERANCE = 1e-6
"""How far outside its ball an adversarial pixel may lie through the rounding of an attack."""


@dataclass(frozen=True)
class ThreatModel:
    """What an attack may do to an image.

    Attributes:
        space: where the budget is measured: pixels in [0, 1], or the network's normalised input.
        clip: whether adversarial images stay in the valid pixel range [0, 1].
        label: the label the attack moves away from: the true one, or the model's own prediction.
        norm: that measures a change: ``linf``, its largest entry; ``l2``, its Euclidean length;
            ``patch``, the side of the square that holds all of it, in which pixels are free.
    """

    space: Literal["pixel", "normalized"] = "pixel"
    clip: bool = True
    label: Literal["true", "predicted"] = "true"
    norm: Norm = "linf"

    def __post_init__(self) -> None:
        """Balls of L2 and patches are ones of valid pixels.

        Raises:
            ValueError: such a norm in normalised units, or without clipping.
        """
        if self.norm != "linf" and not (self.space == "pixel" and self.clip):
            name = NORM_NAMES[self.norm]
            raise ValueError(f"budgets of {name} are of pixels that are clipped to [0, 1]")


PIXEL = ThreatModel()
NORM_NAMES: Mapping[Norm, str] = {"linf": "L-infinity", "l2": "L2", "patch": "patches"}
"""As readers know them."""


@dataclass(frozen=True)
class Protocol:
    """A named threat model; each attack has constants of its own under it.

    Attributes:
        name: as written in results.
        threat: see `ThreatModel`.
        meaning: one sentence for the reader of a report.
    """

    name: str
    threat: ThreatModel
    meaning: str


PROTOCOLS: Registry[Protocol] = Registry("protocol")
PROTOCOLS["pixel"] = Protocol(
    "pixel",
    PIXEL,
    "budgets are pixel changes in [0, 1], adversarial images are clipped to valid pixels, and the "
    "attack moves away from the true label.",
)
PROTOCOLS["paper"] = Protocol(
    "paper",
    ThreatModel(space="normalized", clip=False, label="predicted"),
    "as the Twicing paper's numbers were made: budgets are in normalised units (with ImageNet's "
    "standard deviations 4/255 is about 0.9/255 in pixels), nothing is clipped to valid pixels, "
    "the attack moves away from the model's own prediction, and SPSA estimates its gradient at "
    "twice the image (a fault of cleverhans 4.0.0, kept on purpose); not comparable with protocol "
    "pixel.",
)
PROTOCOLS["l2"] = Protocol(
    "l2",
    ThreatModel(norm="l2"),
    "a budget is the Euclidean length of the whole change, over all pixels in [0, 1]; adversarial "
    "images are clipped to valid pixels, and the attack moves away from the true label; not "
    "comparable with L-infinity.",
)

PROTOCOLS["patch"] = Protocol(
    "patch",
    ThreatModel(norm="patch"),
    "a budget is the side of a square in pixels; the attack is free inside one such square, "
    "wherever it lies, in valid pixels, and changes nothing else; it moves away from the true "
    "label; not comparable with L-infinity and L2.",
)


def norm_of(protocol: str) -> Norm:
    """The norm of a protocol's budgets.

    Raises:
        UserError: an unknown protocol.
    """
    return PROTOCOLS[protocol].threat.norm


def __getattr__(name: str) -> object:
    if name in ("ball", "unit", "check_adversarial"):
        room = __name__.rpartition(".")[0]
        raise ImportError(f"{name} has moved: import it from {room}.ball")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
