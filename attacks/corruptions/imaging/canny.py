"""OpenCV's Canny edges and its chamfer distance to them, as spatter's water needs them."""

import numpy as np
import scipy
from numpy.typing import NDArray

from .pixels import Pixels

LOW, HIGH = 50, 150
# tan(22.5 degrees) in OpenCV's fixed point.
SHIFT = 15
TAN_22 = round(0.4142135623730950488016887242097 * (1 << SHIFT))

Plane = NDArray[np.int32]
Mask = NDArray[np.bool_]


def canny(image: Pixels) -> Mask:
    """Edges of a grey image (H, W): 3 x 3 Sobel, L1 norm, thresholds 50 and 150."""
    across, down = _sobel(image)
    strength = np.abs(across) + np.abs(down)
    candidates = (strength > LOW) & _is_ridge(strength, across, down)
    parts, count = scipy.ndimage.label(candidates, structure=np.ones((3, 3)))
    strong = np.zeros(count + 1, dtype=bool)
    strong[parts[candidates & (strength > HIGH)]] = True
    edges: Mask = strong[parts]
    return edges


def _sobel(image: Pixels) -> tuple[Plane, Plane]:
    """Derivatives along the columns and along the rows; the edge pixel repeats."""
    x = np.pad(image, 1, mode="edge").astype(np.int32)
    step = x[:, 2:] - x[:, :-2]
    across = step[:-2] + 2 * step[1:-1] + step[2:]
    mean = x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]
    return across, mean[2:] - mean[:-2]


def _is_ridge(strength: Plane, across: Plane, down: Plane) -> Mask:
    """Where no neighbour along the gradient is stronger; a tie is lost, but to the right and below.

    The gradient's direction is rounded to a multiple of 45 degrees.
    """
    height, width = strength.shape
    around = np.pad(strength, 1)

    def neighbour(row: int, column: int) -> Plane:
        return around[1 + row : 1 + row + height, 1 + column : 1 + column + width]

    steepness = np.abs(down) << SHIFT
    flat = np.abs(across) * TAN_22
    level = (strength > neighbour(0, -1)) & (strength >= neighbour(0, 1))
    upright = (strength > neighbour(-1, 0)) & (strength >= neighbour(1, 0))
    falling = (strength > neighbour(-1, -1)) & (strength > neighbour(1, 1))
    rising = (strength > neighbour(-1, 1)) & (strength > neighbour(1, -1))
    slope = np.where((across ^ down) < 0, rising, falling)
    steep = steepness > flat + (np.abs(across) << (SHIFT + 1))
    return np.where(steepness < flat, level, np.where(steep, upright, slope))
