"""The ball an attack may move in, and the check that it did."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import BrokenAttackError
from ..files.printable import count
from .distances import Distances, distances_and_reach, sides_changed
from .threat_model import TOLERANCE, ThreatModel

RELATIVE_TOLERANCE = 0.01
"""No more than this share of the budget, so that a tiny one cannot be doubled."""
L2_TOLERANCE = 1e-4
"""Share of an L2 budget by which lengths that are computed in float32 may be off."""
ROUNDING = 2.0**-23
"""And what float32 itself rounds sums and differences of pixels by, whatever the budget."""


def ball(
    x: Tensor, eps: float, threat: ThreatModel, std: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Lower and upper bound of every pixel in an L-infinity ball.

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
    x: Tensor,
    x_adv: Tensor,
    eps: float,
    threat: ThreatModel,
    std: Tensor | None = None,
    *,
    images: Sequence[str] = (),
) -> Distances:
    """Refuse an adversarial batch that must not be scored.

    Args:
        x: clean pixels (N, 3, H, W) in [0, 1].
        x_adv: what the attack returned for them.
        eps: the declared budget, in the threat model's own space.
        threat: see `ThreatModel`.
        std: as in `ball`.
        images: ids of the images, for messages.

    Returns:
        How far each image was changed.

    Raises:
        BrokenAttackError: another shape or dtype, not finite, outside its ball, patch or the valid
            range, or not bit for bit the clean image at a budget of 0.
    """
    if x_adv.shape != x.shape or x_adv.dtype != x.dtype:
        raise BrokenAttackError(
            f"returned {tuple(x_adv.shape)} {x_adv.dtype} for {tuple(x.shape)} {x.dtype}"
        )
    x_adv = x_adv.detach()
    least, most = (end.item() for end in torch.aminmax(x_adv))
    if not math.isfinite(least - most):
        where = affected(~torch.isfinite(x_adv), images)
        raise BrokenAttackError(f"returned values that are not finite (NaN or infinity){where}")
    if eps == 0 and not torch.equal(x_adv, x):
        where = affected(x_adv != x, images)
        raise BrokenAttackError(f"changed the image at a budget of 0{where}")
    measured, changes = distances_and_reach(x, x_adv)
    if threat.norm == "l2":
        _check_length(measured.l2, eps, images)
    elif threat.norm == "patch":
        _check_square(sides_changed(x, x_adv), eps, images)
    else:
        reach = (eps * unit(x, threat, std)).flatten()
        excess = changes - reach
        outside = excess > (RELATIVE_TOLERANCE * reach).clamp(max=TOLERANCE) + ROUNDING
        if outside.any():
            by = f"{excess.max().item() * 255:.3g}/255{affected(outside, images)}"
            raise BrokenAttackError(f"left its ball of {eps * 255:g}/255 by {by}")
    if threat.clip and (least < 0 or most > 1):
        where = affected((x_adv < 0) | (x_adv > 1), images)
        raise BrokenAttackError(f"left the valid range [0, 1]: {least:g} to {most:g}{where}")
    return measured


def _check_length(lengths: Tensor, eps: float, images: Sequence[str]) -> None:
    """What attacks normalise in float32 is off by 1e-5 of the budget."""
    excess = lengths - eps
    outside = excess > min(TOLERANCE + L2_TOLERANCE * eps, RELATIVE_TOLERANCE * eps)
    if outside.any():
        by = f"{excess.max().item():.3g}{affected(outside[:, None], images)}"
        raise BrokenAttackError(f"left its L2 ball of {eps:g} by {by}")


def _check_square(sides: Tensor, eps: float, images: Sequence[str]) -> None:
    """Whatever an attack says of its place: the smallest square around all that it changed."""
    outside = sides > eps
    if outside.any():
        needed = f"{sides.max().item()} px{affected(outside[:, None], images)}"
        raise BrokenAttackError(f"left its patch of {eps:g} px: what it changed needs {needed}")


def affected(wrong: Tensor, images: Sequence[str] = ()) -> str:
    """Which images of a batch something is wrong with, as the end of a sentence.

    Args:
        wrong: (N, ...), true where a value is wrong.
        images: their ids, if they are known.
    """
    rows = wrong.flatten(1).any(1).nonzero().flatten().tolist()
    name = f", first {images[rows[0]]}" if images else ""
    return f" in {len(rows)} of {count(len(wrong), 'image')}{name}"
