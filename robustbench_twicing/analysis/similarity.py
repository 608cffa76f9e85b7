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
    shortest, longest = lengths.aminmax()
    if not (shortest > SHORTEST and longest < LONGEST):
        tokens = tokens.double()
        lengths = vector_norm(tokens, dim=-1)
    # A row for each skip: which tokens are in its sums.
    chosen = torch.arange(tokens.shape[1], device=tokens.device) >= torch.tensor(
        skips, device=tokens.device
    ).unsqueeze(1)
    inverse = torch.where(lengths > 0, 1 / lengths, 0)
    as_they_are = chosen.to(tokens.dtype).expand(len(tokens), -1, -1)
    # One product sums the unit tokens and the tokens as they are, of every skip.
    sums = torch.cat([inverse.unsqueeze(1) * chosen, as_they_are], 1) @ tokens
    return _similarities(lengths, chosen.double(), sums.double().square().sum(-1))


def _similarities(lengths: Tensor, chosen: Tensor, squared_sums: Tensor) -> list[TokenSimilarity]:
    """From lengths of sums to `TokenSimilarity`, for S choices of tokens.

    Args:
        lengths: of all tokens (B, N).
        chosen: 1 for each token that is in the sums, else 0 (S, N).
        squared_sums: squared lengths of the sums of unit tokens, then of the tokens (B, 2S).
    """
    unit_sums, whole_sums = squared_sums.chunk(2, 1)
    finite = lengths.isfinite().all(1, keepdim=True)
    tokens = chosen.sum(1)
    directed = (lengths > 0).double() @ chosen.T
    pairs = directed * (directed - 1)
    similarity = torch.where(finite & (pairs > 0), (unit_sums - directed) / pairs, torch.nan)
    energy = lengths.double().square() @ chosen.T
    spread = (1 - whole_sums / (tokens * energy)).clamp(min=0).sqrt()
    columns = (
        similarity,
        torch.where(finite, spread, torch.nan),
        torch.where(finite, tokens - directed, 0).long(),
        finite.expand_as(pairs),
    )
    return [
        TokenSimilarity(*of_skip) for of_skip in zip(*(c.unbind(1) for c in columns), strict=True)
    ]
