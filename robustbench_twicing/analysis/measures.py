"""What is measured of each layer: which tensors it takes, and the columns that it gives."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from ..classifiers.probe import LayerTensor
from .attention import class_row, row_numbers
from .similarity import token_similarities
from .spectrum import eigenvalues, spectrum_numbers

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


def by_name(
    names: Sequence[str], tensors: Sequence[str], *, each_head: bool = False
) -> dict[str, Measure]:
    """`similarity` and `attention`, which look at many images at a time, as far as they are named.

    Args:
        names: of analyses.
        tensors: as for `similarity`.
        each_head: as for `attention`.
    """
    measures = {"similarity": similarity(tensors), "attention": attention(each_head=each_head)}
    return {name: measure for name, measure in measures.items() if name in names}


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


def attention(*, each_head: bool = False) -> Measure:
    """Entropies and weights of each layer's softmax matrix, as means over heads and rows.

    Args:
        each_head: whether there is a row of each head, too, by its number from 1.
    """
    rows = partial(_attention_rows, each_head=each_head)
    return Measure(("weights",), ("layer", "head"), rows)


def _attention_rows(seen: LayerTensor, *, each_head: bool) -> Rows:
    of_class = class_row(
        seen.values, extra_tokens=seen.extra_tokens, has_class_token=seen.has_class_token
    )
    of_all = row_numbers(seen.values)
    columns = {
        "class_entropy": of_class.entropy,
        "class_max": of_class.largest,
        "class_self": of_class.itself,
        "row_entropy": of_all.entropy.mean(2),
        "participation": of_all.participation.mean(2),
    }
    yield (str(seen.layer), "mean"), {name: values.mean(1) for name, values in columns.items()}
    for head in range(seen.values.shape[1] if each_head else 0):
        key = str(seen.layer), str(head + 1)
        yield key, {name: values[:, head] for name, values in columns.items()}


def spectrum() -> Measure:
    """`spectrum_numbers` of each head, with ``n_tokens``; a class token's row alone has none."""
    return Measure(("weights",), ("layer", "head"), _spectrum_rows)


def _spectrum_rows(seen: LayerTensor) -> Rows:
    _, heads, queries, keys = seen.values.shape
    if queries != keys:
        return
    of_softmax = eigenvalues(seen.values)
    numbers = spectrum_numbers(of_softmax, seen.value_weights.eigenvalues(of_softmax))
    n_tokens = torch.full((len(of_softmax),), keys)
    for head in range(heads):
        columns = {name: values[:, head] for name, values in numbers.items()}
        yield (str(seen.layer), str(head + 1)), {**columns, "n_tokens": n_tokens}
