"""Softmax averages of values, once or twice; shared by every family.

A is the softmax over keys of q k^T / sqrt(d). Explicit forms A (B, h, N, N); the fused kernel never
does. There is no attention dropout: the networks are for evaluation.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .checks import AttentionForm


def weights(q: Tensor, k: Tensor) -> Tensor:
    """A itself: (..., N, d) queries and keys to (..., N, N), rows summing to one."""
    # Scaling q costs N d products, scaling the scores N N of them.
    scale: float = q.shape[-1] ** -0.5
    return (q * scale @ k.transpose(-2, -1)).softmax(dim=-1)


def average(q: Tensor, k: Tensor, v: Tensor, *, fused: bool) -> Tensor:
    """A v for tensors (B, h, N, d)."""
    if fused:
        return scaled_dot_product_attention(q, k, v)
    return weights(q, k) @ v


def average_twice(q: Tensor, k: Tensor, v: Tensor, *, fused: bool) -> Tensor:
    """(2A - A^2) v = A v + A (v - A v), the twicing of arXiv 2503.00687, for (B, h, N, d).

    The residual v - A v is averaged with the same A. Explicit computes A once; fused runs the
    kernel twice, which costs some time and saves the memory of A.

    Args:
        q: queries.
        k: keys.
        v: values.
        fused: the form.
    """
    if fused:
        once = scaled_dot_product_attention(q, k, v)
        return once + scaled_dot_product_attention(q, k, v - once)
    batch, num_heads, _, width = v.shape
    # Three-dimensional and in one piece, because both products would otherwise copy v.
    q, k, v = (heads.flatten(0, 1) for heads in (q, k, v))
    a = weights(q, k)
    once = a @ v
    twice = torch.baddbmm(once, a, v - once)
    return twice.view(batch, num_heads, -1, width)


class ValueWeights(NamedTuple):
    """How the matrix M that multiplies a layer's values comes from its softmax matrix A.

    Attributes:
        twicing: M = 2A - A^2; else M = A.
        lamb: (heads,) of AttnScale, M = D + (1 + lamb)(A - D) with D = 1/N everywhere; else None.
    """

    twicing: bool = False
    lamb: Tensor | None = None

    @classmethod
    def of_layer(cls, attention: nn.Module) -> "ValueWeights":
        """Those of an attention layer of any family.

        Args:
            attention: the layer; NeuTRENO's pull towards the first values is no matrix on its own
                values, and left out.
        """
        lamb = getattr(attention, "lamb", None)
        return cls(getattr(attention, "averages_twice", False), None if lamb is None else lamb.data)

    def matrix(self, a: Tensor) -> Tensor:
        """M itself, whose rows sum to one and whose weights may be negative.

        Args:
            a: A (..., heads, N, N).
        """
        if self.twicing:
            return 2 * a - a @ a
        if self.lamb is None:
            return a
        uniform = 1 / a.shape[-1]
        return uniform + (1 + self.lamb.to(a).view(-1, 1, 1)) * (a - uniform)

    def eigenvalues(self, of_softmax: Tensor) -> Tensor:
        """Those of M from those of A, (B, heads, N), in the same order.

        A polynomial of a matrix has the polynomial's values as eigenvalues, symmetric or not. D has
        the vector of ones, which A maps to itself, as its image: AttnScale scales every eigenvalue
        but that one.
        """
        if self.twicing:
            return 2 * of_softmax - of_softmax**2
        if self.lamb is None:
            return of_softmax
        of_ones = (of_softmax - 1).abs().argmin(-1, keepdim=True)
        scaled = of_softmax * (1 + self.lamb.to(of_softmax).view(-1, 1))
        return scaled.scatter(-1, of_ones, of_softmax.gather(-1, of_ones))


def set_attention(network: nn.Module, form: AttentionForm) -> None:
    """Choose the form in every layer that has the choice; ``auto`` leaves each layer's own.

    timm's layers and ours both keep the choice in an attribute called ``fused_attn``.
    """
    if form == "auto":
        return
    for module in network.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = form == "fused"  # type: ignore[assignment]


@contextmanager
def explicit_attention(network: nn.Module) -> Iterator[None]:
    """The explicit form in every layer that has the choice, inside; each layer's own after it."""
    before = [
        (module, module.fused_attn) for module in network.modules() if hasattr(module, "fused_attn")
    ]
    set_attention(network, "explicit")
    try:
        yield
    finally:
        for module, fused in before:
            module.fused_attn = fused
