"""What a comparison is, and PGD compared step by step."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from robustbench_twicing.classifiers.classifier import Classifier, std_of
from robustbench_twicing.conditions.threat_model import PROTOCOLS, ThreatModel, ball, unit

from ..attacked_label import attacked_label
from ..pgd import REL_STEP, climb, pgd

CLOSE = 1e-6
"""Difference of two pixels, in their own units, that rounding explains."""
FLIPS = 1e-4
"""Share of pixels that may differ by more, because a gradient next to zero changed its sign."""
PIXEL, PAPER = (PROTOCOLS[name].threat for name in ("pixel", "paper"))


class Agreement(NamedTuple):
    """One comparison.

    Attributes:
        attack: the own attack and its protocol.
        reference: what it was compared with.
        largest: largest difference of a pixel, in its own units; None where not run.
        differing: share of pixels that differ by more than rounding; None where not run.
        agrees: the verdict; None where not run.
        remark: how to read the row.
    """

    attack: str
    reference: str
    largest: float | None
    differing: float | None
    agrees: bool | None
    remark: str = ""


class Setting(NamedTuple):
    """What all comparisons share.

    Attributes:
        model: any classifier.
        x: a few images (N, 3, H, W) in [0, 1].
        y: true class indices (N,).
        eps: budget, in pixels and in normalised units alike.
        seed: of all draws.
    """

    model: Classifier
    x: Tensor
    y: Tensor
    eps: float
    seed: int


def compare(attack: str, reference: str, own: Tensor, other: Any) -> Agreement:
    """The verdict on two batches of adversarial images."""
    difference = (own - other.detach()).abs()
    differing = float((~(difference <= CLOSE)).double().mean())  # NaN differs, too
    largest = float(difference.max())
    return Agreement(attack, reference, largest, differing, differing <= FLIPS)


def own_steps(
    setting: Setting, theirs: Sequence[Tensor], threat: ThreatModel
) -> tuple[Tensor, Tensor]:
    """Own iterates, and what the library has in their place (steps + 1, N, 3, H, W).

    The start and the first step are the own attack's; every further step is taken from the
    library's iterate.
    """
    model, x, y, eps, seed = setting
    target = attacked_label(model, x, y, threat)
    bounds = ball(x, eps, threat, std_of(model))
    length = REL_STEP * eps * unit(x, threat, std_of(model))
    own = []
    for steps in (0, 1):
        generator = torch.Generator(x.device).manual_seed(seed)
        own.append(pgd(model, x, y, eps=eps, threat=threat, steps=steps, generator=generator))
    own += [
        climb(model, iterate, target, bounds, length=length, steps=1) for iterate in theirs[1:-1]
    ]
    return torch.stack(own[: len(theirs)]), torch.stack(list(theirs))
