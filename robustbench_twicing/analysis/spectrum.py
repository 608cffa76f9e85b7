"""Eigenvalues of attention matrices: sizes, shares, and what n layers would leave of them."""

from collections.abc import Mapping

import torch
from torch import Tensor

from .kernels import SHOWN

LARGE = 0.01
"""Magnitude up to which an eigenvalue is mostly rounding, whose sign and phase mean nothing."""
COMPLEX = 1e-6
"""Imaginary part beyond which an eigenvalue counts as complex."""
OUTSIDE = 1 + 1e-9
"""Magnitude beyond which an eigenvalue counts as outside the unit disc; 1 itself always is one."""
POINTS = 64
"""Ranks, evenly spread from the largest to the smallest, whose magnitudes are kept."""


def eigenvalues(weights: Tensor) -> Tensor:
    """Of every matrix, in float64 on the CPU: complex (B, heads, N), in no particular order.

    Rows that a softmax in float32 left at 1 +- 1e-7 are made to sum to one.

    Args:
        weights: A (B, heads, N, N). An image with a number that is not finite has NaN throughout.
    """
    matrices = weights.cpu().double()
    finite = matrices.isfinite().flatten(1).all(1)
    harmless = torch.eye(matrices.shape[-1], dtype=matrices.dtype)
    matrices = torch.where(finite[:, None, None, None], matrices, harmless)
    values = torch.linalg.eigvals(matrices / matrices.sum(-1, keepdim=True))
    return torch.where(finite[:, None, None], values, torch.nan)


def spectrum_numbers(of_softmax: Tensor, effective: Tensor) -> Mapping[str, Tensor]:
    """Columns of numbers, each (B, heads), NaN for an image without eigenvalues.

    ``large``, ``complex`` and ``negative`` are counts: of eigenvalues of A beyond `LARGE`, and of
    those that are complex or have a negative real part. ``share_above_1`` is of all eigenvalues,
    ``capacity_n`` the mean of their n-th powers; both are of the effective matrix.
    ``abs_0`` ... and ``abs_effective_0`` ... are magnitudes at `POINTS` ranks, sorted each for
    itself.

    Args:
        of_softmax: eigenvalues of A, (B, heads, N).
        effective: of the matrix that multiplies the values.
    """
    magnitudes, effective_magnitudes = (
        values.abs().sort(-1, descending=True).values for values in (of_softmax, effective)
    )
    large = of_softmax.abs() > LARGE
    numbers = {
        "mean_abs": magnitudes.mean(-1),
        "second_abs": _second(magnitudes),
        "mean_abs_effective": effective_magnitudes.mean(-1),
        "second_abs_effective": _second(effective_magnitudes),
        "max_abs_effective": effective_magnitudes[..., 0],
        "share_above_1": (effective_magnitudes > OUTSIDE).double().mean(-1),
        "large": large.sum(-1),
        "complex": (large & (of_softmax.imag.abs() > COMPLEX)).sum(-1),
        "negative": (large & (of_softmax.real < 0)).sum(-1),
        **{f"capacity_{n}": (effective_magnitudes**n).mean(-1) for n in SHOWN},
    }
    ranks = torch.linspace(0, magnitudes.shape[-1] - 1, POINTS).round().long()
    for name, values in (("abs", magnitudes), ("abs_effective", effective_magnitudes)):
        numbers |= {f"{name}_{point}": values[..., rank] for point, rank in enumerate(ranks)}
    finite = magnitudes.isfinite().all(-1)
    return {name: torch.where(finite, values, torch.nan) for name, values in numbers.items()}


def _second(magnitudes: Tensor) -> Tensor:
    """The second largest; NaN where there is a single one."""
    return magnitudes[..., 1] if magnitudes.shape[-1] > 1 else magnitudes[..., 0] * torch.nan
