"""The motion trail of ImageMagick 6 (16-bit quantum), bit for bit: motion_blur and snow use it."""

import math
from collections import defaultdict

import numpy as np

from .pixels import Pixels

# An 8-bit value v is 257 * v in ImageMagick's 16 bits.
QUANTUM = 257


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
    margin = [
        (max(0, -min(offsets)), max(0, *offsets))
        for offsets in (rows, columns)
    ]
    padded = np.pad(image, margin + [(0, 0)] * (image.ndim - 2), mode="edge").astype(np.float64)
    height, width = image.shape[:2]
    total = np.zeros(image.shape)
    term = np.empty(image.shape)
    for (row, column), weight in taps.items():
        top, left = row + margin[0][0], column + margin[1][0]
        np.multiply(padded[top : top + height, left : left + width], weight, out=term)
        total += term
    total *= QUANTUM
    total += 0.5
    return (np.floor(total, out=total) / QUANTUM).astype(np.uint8)


def _taps(radius: int, sigma: float, angle: float) -> dict[tuple[int, int], float]:
    """Weight by (row, column) offset; taps that round to one pixel are merged."""
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    rows = np.ceil(steps * math.sin(angle) - 0.5).astype(int)
    columns = np.ceil(steps * math.cos(angle) - 0.5).astype(int)
    taps: dict[tuple[int, int], float] = defaultdict(float)
    for row, column, weight in zip(rows.tolist(), columns.tolist(), weights, strict=True):
        taps[row, column] += float(weight)
    return taps
