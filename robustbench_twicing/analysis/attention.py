"""How an attention matrix spreads its weights: entropy, participation, largest weight."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.linalg import vector_norm

AT_ONCE = 2**18
"""Weights that are looked at together, so that what is made of them stays in the cache."""


class RowNumbers(NamedTuple):
    """Of rows of softmax weights (..., N), each (...,).

    Attributes:
        entropy: -sum a ln a in nats, 0 (one token has all) to ln N (all have the same).
        participation: 1 / sum a^2, the number of tokens that share the weight, 1 to N.
    """

    entropy: Tensor
    participation: Tensor


def row_numbers(rows: Tensor) -> RowNumbers:
    """Entropy and participation of rows of weights.

    Args:
        rows: (..., N), at least 0, that sum to one.
    """
    flat = rows.detach().reshape(-1, rows.shape[-1])
    entropy, participation = flat.new_empty(2, len(flat))
    # 0 log 0 is 0 with any finite logarithm; torch.special.entr takes three times as long.
    least = torch.finfo(flat.dtype).tiny
    pieces = max(1, flat.numel() // AT_ONCE)
    for some, sums, norms in zip(
        flat.chunk(pieces), entropy.chunk(pieces), participation.chunk(pieces), strict=True
    ):
        torch.sum(some.clamp(min=least).log_().mul_(some), -1, out=sums)
        vector_norm(some, dim=-1, out=norms)
    return RowNumbers(
        entropy.neg_().view(rows.shape[:-1]),
        participation.square_().reciprocal_().view(rows.shape[:-1]),
    )


class ClassRow(NamedTuple):
    """Of the class token's row of weights, each (B, heads); NaN without a class token.

    Attributes:
        entropy: over all keys, the class token itself included.
        largest: largest weight of a patch.
        itself: weight on the class token itself.
    """

    entropy: Tensor
    largest: Tensor
    itself: Tensor


def class_row(weights: Tensor, *, extra_tokens: int, has_class_token: bool) -> ClassRow:
    """What the class token looks at.

    Args:
        weights: A (B, heads, N or 1, N), of which the first row is the class token's.
        extra_tokens: tokens before the patches, the class token among them.
        has_class_token: whether the first token is one.
    """
    row = weights[:, :, 0]
    if not has_class_token:
        nothing = torch.full_like(row[..., 0], torch.nan)
        return ClassRow(nothing, nothing, nothing)
    largest = row[..., extra_tokens:].amax(-1)
    return ClassRow(row_numbers(row).entropy, largest, row[..., 0])
