"""Facts per image: prediction, rank of the true class, loss, distance."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from .errors import BrokenAttackError


class Scores(NamedTuple):
    """One value per image, on the CPU.

    Attributes:
        prediction: class with the largest logit (N,), int64.
        rank: how many classes come before the true one (N,), int64; 0 is top-1 correct, below 5
            is top-5 correct. Among equal logits the lower class index comes first.
        loss: cross-entropy of the true class (N,), float64.
    """

    prediction: Tensor
    rank: Tensor
    loss: Tensor


def score(logits: Tensor, y: Tensor) -> Scores:
    """Score logits (N, K) against class indices (N,).

    Raises:
        BrokenAttackError: logits that are not finite; they cannot be ranked.
    """
    if not torch.isfinite(logits).all():
        raise BrokenAttackError("the model's logits are not finite (NaN or infinity)")
    logits, y = logits.detach().double().cpu(), y.cpu()
    true = logits.gather(1, y[:, None])
    earlier = torch.arange(logits.shape[1])[None] < y[:, None]
    rank = ((logits > true) | ((logits == true) & earlier)).sum(1)
    top = logits.max(1, keepdim=True).values
    prediction = (logits == top).int().argmax(1)
    return Scores(prediction, rank, cross_entropy(logits, y, reduction="none"))


def linf(x: Tensor, x_adv: Tensor) -> Tensor:
    """Largest change of any pixel per image (N,), in pixels [0, 1], on the CPU."""
    return (x_adv - x).abs().flatten(1).amax(1).double().cpu()
