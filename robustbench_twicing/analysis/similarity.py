"""How alike the tokens of an image are: mean cosine, and the share that is not their mean."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.linalg import vector_norm

from ..errors import UserError

SHORTEST, LONGEST = 1e-15, 1e15
"""Lengths of tokens whose squares float32 holds with all digits."""


class TokenSimilarity(NamedTuple):
    """Of each of B images, in float64; NaN where an image has no such number.

    Attributes:
        similarity: mean cosine of all pairs of different tokens, -1/(N-1) to 1 (B,). NaN with fewer
            than two tokens that have a direction.
        spread: length of the tokens without their mean over their length, 0 (all alike) to 1 (B,).
        zero_tokens: tokens of length 0, which have no direction and are in no pair (B,).
        finite: whether all tokens are finite numbers, those that are left out too; if not, the
            others are NaN and 0 (B,).
    """

    similarity: Tensor
    spread: Tensor
    zero_tokens: Tensor
    finite: Tensor


def token_similarity(tokens: Tensor, *, skip: int = 0) -> TokenSimilarity:
    """Mean cosine of pairs of tokens, and their spread, image by image.

    With unit tokens u the mean over pairs i != j is (|sum u|^2 - N) / (N (N - 1)), so that no pair
    is formed; products are in the tokens' number format, sums over them in float64.

    Args:
        tokens: (B, N, C) in floating point.
        skip: leading tokens to leave out, as class and distillation tokens.

    Raises:
        UserError: other tensors than (B, N, C).
    """
    return token_similarities(tokens, (skip,))[0]


def token_similarities(tokens: Tensor, skips: tuple[int, ...]) -> list[TokenSimilarity]:
    """`token_similarity` for several numbers of leading tokens to leave out, in one pass.

    Args:
        tokens: (B, N, C) in floating point.
        skips: leading tokens to leave out.

    Raises:
        UserError: other tensors than (B, N, C).
    """
    if tokens.ndim != 3 or not tokens.is_floating_point():
        shape = tuple(tokens.shape)
        raise UserError(f"tokens are (images, tokens, width) in floating point, not {shape}")
    lengths = vector_norm(tokens, dim=-1)
    if not ((lengths > SHORTEST) & (lengths < LONGEST)).all():
        tokens = tokens.double()
        lengths = vector_norm(tokens, dim=-1)
    inverse = torch.where(lengths > 0, 1 / lengths, 0)
    # One product sums the unit tokens and the tokens as they are.
    factors = torch.stack([inverse, torch.ones_like(inverse)], 1)
    sums = factors @ tokens
    numbers = []
    for skip in skips:
        without = sums - factors[:, :, :skip] @ tokens[:, :skip] if skip else sums
        unit_sum, whole_sum = without.double().square().sum(-1).unbind(1)
        numbers.append(_similarity(lengths, skip, unit_sum, whole_sum))
    return numbers


def _similarity(lengths: Tensor, skip: int, unit_sum: Tensor, whole_sum: Tensor) -> TokenSimilarity:
    """From the lengths of all tokens (B, N), and the squared lengths of two sums of some (B,).

    Args:
        lengths: of the tokens.
        skip: leading tokens that are in neither sum.
        unit_sum: of the sum of unit tokens.
        whole_sum: of the sum of the tokens as they are.
    """
    finite = lengths.isfinite().all(1)
    counted = lengths[:, skip:].double()
    directed = (counted > 0).sum(1).double()
    pairs = directed * (directed - 1)
    similarity = (unit_sum - directed) / pairs
    energy = counted.square().sum(1)
    spread = (1 - whole_sum / (counted.shape[1] * energy)).clamp(min=0).sqrt()
    return TokenSimilarity(
        torch.where(finite & (pairs > 0), similarity, torch.nan),
        torch.where(finite, spread, torch.nan),
        torch.where(finite, (counted == 0).sum(1), 0),
        finite,
    )
