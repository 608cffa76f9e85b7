"""Enlarging the middle of an image with its corners aligned: what zoom_blur and snow share.

Own code rather than torch's `interpolate`, which rounds differently with one thread and with two.
"""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# As many rows at a time as keep the planes in the processor's cache.
ROWS = 32

Real = TypeVar("Real", np.float32, np.float64)


def zoom_middle(x: NDArray[Real], factor: float) -> NDArray[Real]:
    """Enlarge the middle of ``x`` so that it fills the frame.

    scipy's ``zoom(order=1)`` of 2018 up to rounding: the cut-out has ``ceil(side / factor)``
    pixels, its corners land on the corners of ``round(cut * factor)`` pixels, and what sticks
    out is trimmed evenly, one pixel more at the end.

    Args:
        x: image (H, W, C).
        factor: at least 1.

    Returns:
        Image (H, W, C).
    """
    height, width, channels = x.shape
    flat = x.reshape(height, width * channels)
    rows, down = _positions(height, factor, x)
    columns, right = _positions(width, factor, x)
    values = (columns[:, None] * channels + np.arange(channels)).ravel()
    right = np.repeat(right, channels)
    zoomed = np.empty_like(flat)
    for start in range(0, height, ROWS):
        part = slice(start, start + ROWS)
        lines = _between(flat.take(rows[part], 0), flat.take(rows[part] + 1, 0), down[part, None])
        zoomed[part] = _between(lines.take(values, 1), lines.take(values + channels, 1), right)
    return zoomed.reshape(x.shape)


def _positions(
    side: int, factor: float, x: NDArray[Real]
) -> tuple[NDArray[np.intp], NDArray[Real]]:
    """For each pixel of an axis the one before its source, and the share of the one behind."""
    cut = math.ceil(side / factor)
    size = round(cut * factor)
    trim = (size - side) // 2
    at = np.arange(trim, trim + side) * ((cut - 1) / (size - 1))
    before = np.minimum(at.astype(np.intp), cut - 2)
    return (side - cut) // 2 + before, (at - before).astype(x.dtype)


def _between(near: NDArray[Real], far: NDArray[Real], share: NDArray[Real]) -> NDArray[Real]:
    """Linear interpolation, in place, that leaves flat areas exactly as they are."""
    far -= near
    far *= share
    near += far
    return near
