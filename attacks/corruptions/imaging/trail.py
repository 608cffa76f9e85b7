"""The motion trail of ImageMagick 6 (16-bit quantum), bit for bit: motion_blur and snow use it."""

import math
from collections import defaultdict

import numpy as np
import scipy
from numpy.typing import NDArray

from .pixels import Pixels

# An 8-bit value v is 257 * v in ImageMagick's 16 bits.
QUANTUM = 257
# As many rows at a time as stay in the processor's cache and, at 224 columns, below the 10,000
# values from which BLAS would start threads: several times faster than all rows at once.
ROWS = 12

Floats = NDArray[np.float64]
Taps = dict[tuple[int, int], float]
"""(row, column) offset in pixels to weight."""


def motion_trail(image: Pixels, radius: float, sigma: float, *, angle: float) -> Pixels:
    """Smear every pixel along one direction with the falling half of a Gaussian.

    Args:
        image: (H, W) or (H, W, 3); beyond the border the edge pixel repeats.
        radius: the trail has ``2 * radius + 1`` taps, in pixels.
        sigma: of the Gaussian, in pixels.
        angle: of the trail, in degrees.

    Returns:
        Bytes of the image's shape.
    """
    taps = _taps(int(radius), sigma, math.radians(angle))
    rows, columns = zip(*taps, strict=True)
    (above, below), (before, after) = (
        (max(0, -min(offsets)), max(0, *offsets)) for offsets in (rows, columns)
    )
    colour = [(0, 0)] * (image.ndim - 2)
    margin = [(above, below), (before, after), *colour]
    padded = np.pad(image, margin, mode="edge").astype(np.float64)
    height, width = image.shape[:2]
    trail = np.empty_like(image)
    for top in range(0, height, ROWS):
        bottom = min(top + ROWS, height)
        window = padded[top : bottom + above + below]
        total = _weighted_sum(window, taps, corner=(above, before), rows=bottom - top)
        trail[top:bottom] = _through_quantum(total[:, :width])
    return trail


def _weighted_sum(padded: Floats, taps: Taps, *, corner: tuple[int, int], rows: int) -> Floats:
    """Sum of ``padded`` seen from ``corner`` plus each offset, times its weight.

    An offset is a shift in memory: one BLAS call a tap. Right of the image's width it mixes two
    rows; that part is not wanted.
    """
    pixel = padded[0, 0].size
    pitch = padded[0].size
    source = padded.ravel()
    total = np.zeros(rows * pitch)
    for (row, column), weight in taps.items():
        start = (corner[0] + row) * pitch + (corner[1] + column) * pixel
        length = min(total.size, source.size - start)
        total = scipy.linalg.blas.daxpy(source, total, n=length, a=weight, offx=start)
    return total.reshape(rows, *padded.shape[1:])


def _through_quantum(total: Floats) -> Floats:
    total = total * QUANTUM
    total += 0.5
    return np.floor(total, out=total) / QUANTUM


def _taps(radius: int, sigma: float, angle: float) -> Taps:
    """The trail's taps, the start first; those that round to one pixel are merged."""
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    rows = np.ceil(steps * math.sin(angle) - 0.5).astype(int)
    columns = np.ceil(steps * math.cos(angle) - 0.5).astype(int)
    taps: Taps = defaultdict(float)
    for row, column, weight in zip(rows.tolist(), columns.tolist(), weights.tolist(), strict=True):
        taps[row, column] += weight
    return taps
