"""What a comparison is, and PGD compared step by step."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from robustbench_twicing.classifiers.classifier import Classifier, std_of
from robustbench_twicing.conditions.ball import ball, unit
from robustbench_twicing.conditions.threat_model import PROTOCOLS, ThreatModel

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
        attack: this suite's attack and its protocol.
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


def compare(attack: str, reference: str, images: Tensor, reference_images: Any) -> Agreement:
    """The verdict on two batches of adversarial images."""
    difference = (images - reference_images.detach()).abs()
    differing = float((~(difference <= CLOSE)).double().mean())  # NaN differs, too
    largest = float(difference.max())
    return Agreement(attack, reference, largest, differing, differing <= FLIPS)


def iterates_beside(
    setting: Setting, reference: Sequence[Tensor], threat: ThreatModel
) -> tuple[Tensor, Tensor]:
    """This suite's PGD iterates, and a library's (both steps + 1, N, 3, H, W).

    The start and the first step are this suite's PGD; every further step begins at the library's
    iterate.
    """
    model, x, y, eps, seed = setting
    target = attacked_label(model, x, y, threat)
    bounds = ball(x, eps, threat, std_of(model))
    length = REL_STEP * eps * unit(x, threat, std_of(model))
    iterates = []
    for steps in (0, 1):
        generator = torch.Generator(x.device).manual_seed(seed)
        iterates.append(pgd(model, x, y, eps=eps, threat=threat, steps=steps, generator=generator))
    iterates += [
        climb(model, start, target, bounds, length=length, steps=1) for start in reference[1:-1]
    ]
    return torch.stack(iterates[: len(reference)]), torch.stack(list(reference))
