"""Plasma fractal: a smooth random height map, the density of the fog."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

Plane = NDArray[np.float64]


def plasma(side: int, decay: float, rng: RandomState) -> Plane:
    """Diamond-square on a grid that wraps around, scaled to 0..1.

    Each level halves the distance between known points: first the middle of every square, then
    the middles of its sides, each the mean of its four neighbours plus noise. The noise scales
    with the SQUARE of the wobble, which is divided by ``decay`` after a level.

    Args:
        side: a power of two, in pixels.
        decay: above 1; smaller is rougher.
        rng: per level three uniform fields: the squares, then two of sides.

    Returns:
        Map (side, side), minimum 0, maximum 1.
    """
    field = np.zeros((side, side))
    step, wobble = side, 100.0
    while step >= 2:
        half = step // 2
        corner = field[::step, ::step]
        total = corner + np.roll(corner, -1, axis=0)
        total += np.roll(total, -1, axis=1)
        field[half::step, half::step] = _wobbled(total, wobble, rng)

        middle = field[half::step, half::step]
        across = (middle + np.roll(middle, 1, axis=0)) + (corner + np.roll(corner, -1, axis=1))
        field[::step, half::step] = _wobbled(across, wobble, rng)
        down = (middle + np.roll(middle, 1, axis=1)) + (corner + np.roll(corner, -1, axis=0))
        field[half::step, ::step] = _wobbled(down, wobble, rng)
        step, wobble = half, wobble / decay
    field -= field.min()
    field /= field.max()
    return field


def _wobbled(total: Plane, wobble: float, rng: RandomState) -> Plane:
    """The mean of four neighbours, given their sum, plus noise."""
    return total / 4 + wobble * rng.uniform(-wobble, wobble, total.shape)
