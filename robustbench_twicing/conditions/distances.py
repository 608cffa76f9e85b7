"""How far an image was changed."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .budgets import Norm

IN_CACHE = 2**18
"""Numbers of the images that are measured at a time: what is computed of more would be written to
memory that the system has to provide first, which takes most of the time."""


class Distances(NamedTuple):
    """How far each of N images was changed, on the CPU.

    Attributes:
        linf: largest change of an entry (N,), float64, in [0, 1].
        l2: Euclidean length of the change (N,), float64.
        l0: pixel positions where any channel changed (N,), int64.
    """

    linf: Tensor
    l2: Tensor
    l0: Tensor


def distances(x: Tensor, x_adv: Tensor) -> Distances:
    """Measure the change of each image; lengths in float64, since float32 is off by 1e-5.

    Args:
        x: clean pixels (N, C, H, W).
        x_adv: adversarial pixels, shaped like x.
    """
    return distances_and_reach(x, x_adv)[0]


def distances_and_reach(x: Tensor, x_adv: Tensor) -> tuple[Distances, Tensor]:
    """`distances`, and the largest change in each channel of each image (N, C), where x is."""
    # Two images at least: torch may add up a single one in another order, on several threads.
    fitting = 1 if x.is_cuda else max(1, min(len(x) // 2, -(-x.numel() // IN_CACHE)))
    pieces = zip(x.tensor_split(fitting), x_adv.tensor_split(fitting), strict=True)
    of_pieces = zip(*(_measured(*piece) for piece in pieces), strict=True)
    reach, l2, l0 = (torch.cat(measured) for measured in of_pieces)
    linf = reach.amax(1).double()
    return Distances(*(tensor.cpu() for tensor in (linf, l2, l0))), reach


def _measured(x: Tensor, x_adv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of each image: the largest change in each channel (N, C), length, positions changed."""
    change = (x_adv - x).abs_()
    l2 = length(x_adv.to(torch.float64, copy=True).sub_(x.double()), "l2")
    return change.flatten(2).amax(2), l2, (change.amax(1) > 0).flatten(1).sum(1)


def length(change: Tensor, norm: Norm) -> Tensor:
    """The norm of each image's change (N, C, H, W), in float64: (N,)."""
    order = math.inf if norm == "linf" else 2
    norms: Tensor = torch.linalg.vector_norm(change.double(), order, dim=(1, 2, 3))
    return norms


def no_distances(count: int) -> Distances:
    """Of images that are as they were."""
    zeros = torch.zeros(count, dtype=torch.float64)
    return Distances(zeros, zeros, zeros.long())


def sides_changed(x: Tensor, x_adv: Tensor) -> Tensor:
    """Side of the smallest upright square around all positions that were changed, in pixels.

    Args:
        x: clean pixels (N, C, H, W).
        x_adv: adversarial pixels, shaped like x.

    Returns:
        (N,), int64; 0 for an image that is as it was.
    """
    changed = (x_adv != x).any(1)
    return torch.maximum(_extent(changed.any(1)), _extent(changed.any(2)))


def _extent(marked: Tensor) -> Tensor:
    """From the first to the last mark of each row (N, L), both counted: (N,)."""
    first, behind = marked.int().argmax(1), marked.flip(1).int().argmax(1)
    return torch.where(marked.any(1), marked.shape[1] - behind - first, 0)
