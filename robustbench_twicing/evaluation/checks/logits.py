"""Logits that say less than they seem to: probabilities, few digits, ties."""

from collections.abc import Iterator

import torch
from torch import Tensor

PROBABILITIES, COARSE, TIES = "probabilities", "coarse-logits", "ties-at-the-top"
SHORT_FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16}
FEW = 8
"""Different values below which logits may be short by chance."""
LEVELS = 1000
"""Steps of their number format that the logits of one image should span, from lowest to highest."""


def logit_flags(logits: Tensor) -> Iterator[str]:
    """Flags of logits (N, K) as a network returned them."""
    if _are_probabilities(logits):
        yield PROBABILITIES
    short = short_format(logits)
    if short:
        yield f"logits-in-{short}"
    elif is_coarse(logits):
        yield COARSE


def short_format(logits: Tensor) -> str:
    """``bf16`` or ``fp16``, if all logits are numbers of such a format; else empty."""
    values = logits.float()
    if len(torch.unique(values)) < FEW:
        return ""
    names = (name for name, kind in SHORT_FORMATS.items() if values.to(kind).float().equal(values))
    return next(names, "")


def is_coarse(logits: Tensor) -> bool:
    """Whether the logits of an image differ by few steps of their number format.

    A large number that is added to all of them does that: it takes the digits.
    """
    spread, step = logits.amax(1) - logits.amin(1), step_of(logits)
    return bool(((spread > 0) & (spread < LEVELS * step)).any())


def step_of(logits: Tensor) -> Tensor:
    """Distance of neighbouring numbers at the largest logit of each image (N,)."""
    return logits.abs().amax(1) * torch.finfo(logits.dtype).eps


def has_ties(logits: Tensor) -> bool:
    """Whether the two largest logits (N, K) of an image are equal."""
    if logits.shape[1] < 2:
        return False
    top = logits.topk(2, 1).values
    return bool((top[:, 0] == top[:, 1]).any())


def _are_probabilities(logits: Tensor) -> bool:
    sums = logits.double().sum(1)
    inside = (logits >= 0).all() and (logits <= 1).all()
    return bool(inside and ((sums - 1).abs() < 1e-3).all() and logits.shape[1] > 1)
