"""Threat model: the ball an attack may move in, and the check that it did."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..errors import BrokenAttackError
from ..registry import Registry

TOLERANCE = 1e-6
"""How far outside its ball an adversarial pixel may lie through float32 rounding."""


@dataclass(frozen=True)
class ThreatModel:
    """L-infinity threat model.

    Attributes:
        space: where the budget is measured: pixels in [0, 1], or the network's normalised input.
        clip: whether adversarial images stay in the valid pixel range [0, 1].
        label: the label the attack moves away from: the true one, or the model's own prediction.
    """

    space: Literal["pixel", "normalized"] = "pixel"
    clip: bool = True
    label: Literal["true", "predicted"] = "true"


PIXEL = ThreatModel()


def ball(
    x: Tensor, eps: float, threat: ThreatModel, std: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Lower and upper bound of every pixel.

    Args:
        x: clean pixels (N, 3, H, W) in [0, 1].
        eps: budget in the threat model's own space.
        threat: see `ThreatModel`.
        std: (3,) standard deviations of the normalisation; needed for a normalised budget, which
            in pixels is ``eps * std`` per channel.

    Returns:
        ``(low, high)``, each shaped like ``x``.
    """
    reach = eps * unit(x, threat, std)
    low, high = x - reach, x + reach
    return (low.clamp(min=0), high.clamp(max=1)) if threat.clip else (low, high)


def unit(x: Tensor, threat: ThreatModel, std: Tensor | None = None) -> Tensor:
    """What one unit of the threat model's space is in pixels: 1, or (C, 1, 1) stds.

    Raises:
        ValueError: a normalised space without the normalisation's std.
    """
    if threat.space == "pixel":
        return torch.ones((), dtype=x.dtype, device=x.device)
    if std is None:
        raise ValueError("a budget in normalised units needs the normalisation's std")
    return std.to(x).view(-1, 1, 1)


def check_adversarial(
    x: Tensor, x_adv: Tensor, eps: float, threat: ThreatModel, std: Tensor | None = None
) -> None:
    """Refuse an adversarial batch that must not be scored.

    Args:
        x: clean pixels (N, 3, H, W) in [0, 1].
        x_adv: what the attack returned for them.
        eps: the declared budget, in the threat model's own space.
        threat: see `ThreatModel`.
        std: as in `ball`.

    Raises:
        BrokenAttackError: another shape or dtype, not finite, outside its ball or the valid range,
            or not bit for bit the clean image at a budget of 0.
    """
    if x_adv.shape != x.shape or x_adv.dtype != x.dtype:
        raise BrokenAttackError(
            f"returned {tuple(x_adv.shape)} {x_adv.dtype} for {tuple(x.shape)} {x.dtype}"
        )
    if not torch.isfinite(x_adv).all():
        raise BrokenAttackError("returned values that are not finite (NaN or infinity)")
    if eps == 0:
        if not torch.equal(x_adv, x):
            raise BrokenAttackError("changed the image at a budget of 0")
        return
    unclipped = ThreatModel(threat.space, clip=False, label=threat.label)
    low, high = ball(x, eps, unclipped, std)
    excess = torch.maximum(low - x_adv, x_adv - high).max().item()
    if excess > TOLERANCE:
        raise BrokenAttackError(f"left its ball of {eps * 255:g}/255 by {excess * 255:.3g}/255")
    if threat.clip and (x_adv.min().item() < 0 or x_adv.max().item() > 1):
        raise BrokenAttackError(
            f"left the valid range [0, 1]: {x_adv.min().item():g} to {x_adv.max().item():g}"
        )


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
