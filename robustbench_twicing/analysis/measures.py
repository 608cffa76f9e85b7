"""What is measured of each layer: which tensors it takes, and the columns that it gives."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from ..classifiers.probe import LayerTensor
from .similarity import token_similarities

TOKEN_TENSORS = ("attention", "block", "mix")
"""Tensors of tokens, in the order in which they are shown."""
TOKENS = ("all", "patches")
"""All tokens of an image, and those without class and distillation tokens."""

Rows = Iterator[tuple[tuple[str, ...], Mapping[str, Tensor]]]
"""Values of the key columns, and columns of numbers, each (B,): one of every image."""


class Measure(NamedTuple):
    """Numbers of every image and layer.

    Attributes:
        tensors: which tensors it takes, see `LayerTensor`.
        keys: names of the columns that say of what a number is.
        rows: from one tensor to numbers.
    """

    tensors: Sequence[str]
    keys: tuple[str, ...]
    rows: Callable[[LayerTensor], Rows]


def similarity(tensors: Sequence[str] = TOKEN_TENSORS) -> Measure:
    """`token_similarity` of each layer, with columns of its names and ``n_tokens``.

    Args:
        tensors: which of `TOKEN_TENSORS`.
    """
    return Measure(tensors, ("tensor", "tokens", "layer"), _similarity_rows)


def _similarity_rows(seen: LayerTensor) -> Rows:
    skips = (0, seen.extra_tokens)
    for tokens, skip, numbers in zip(
        TOKENS, skips, token_similarities(seen.values, skips), strict=True
    ):
        n_tokens = numbers.zero_tokens.new_full((len(seen.values),), seen.values.shape[1] - skip)
        columns = {**numbers._asdict(), "n_tokens": n_tokens}
        yield (seen.name, tokens, str(seen.layer)), columns
