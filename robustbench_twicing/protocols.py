"""Named protocols: a threat model that every number carries, and what it means in words."""

from dataclasses import dataclass

from .registry import Registry
from .threat import PIXEL, ThreatModel


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
