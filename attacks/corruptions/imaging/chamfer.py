"""The 5 x 5 chamfer distance of OpenCV, up to a cap."""

import numpy as np
from numpy.typing import NDArray

# A step to the side, to a corner, and like a knight's, in OpenCV's fixed point.
UNIT = 1 << 16
SIDE, CORNER, KNIGHT = (round(length * UNIT) for length in (1, 1.4, 2.1969))


def chamfer_distance(marks: NDArray[np.bool_], cap: int) -> NDArray[np.float32]:
    """Length of the shortest path to a mark, in pixels, at most ``cap``.

    Down a column the nearest mark is the best one, so one distance per column is enough; what
    remains is a minimum over columns up to ``cap`` away.

    Args:
        marks: plane (H, W).
        cap: in whole pixels, at most 20.

    Returns:
        Distances (H, W).
    """
    width = marks.shape[1]
    within_column = np.pad(_within_column(marks, cap), [(0, 0), (cap, cap)], constant_values=cap)
    # Lengths are few (175 up to 20 pixels): their ranks fit a byte, and bytes are fast.
    lengths, ranks = np.unique(_lengths(cap), return_inverse=True)
    nearest = np.full(marks.shape, len(lengths) - 1, dtype=np.uint8)
    for aside, table in enumerate(ranks.reshape(cap + 1, cap + 1).astype(np.uint8)):
        if nearest.max() <= table[0]:
            break
        left = within_column[:, cap - aside : cap - aside + width]
        right = within_column[:, cap + aside : cap + aside + width]
        np.minimum(nearest, table.take(np.minimum(left, right)), out=nearest)
    return (lengths / UNIT).astype(np.float32).take(nearest)


def _within_column(marks: NDArray[np.bool_], cap: int) -> NDArray[np.uint8]:
    """Rows to the nearest mark of the same column, at most ``cap``."""
    height = len(marks)
    rows = np.arange(height, dtype=np.int32)[:, None]
    above = np.maximum.accumulate(np.where(marks, rows, -cap), axis=0)
    below = np.minimum.accumulate(np.where(marks, rows, height + cap)[::-1], axis=0)[::-1]
    return np.minimum(np.minimum(rows - above, below - rows), cap).astype(np.uint8)


def _lengths(cap: int) -> NDArray[np.intp]:
    """Fixed-point path length by columns and rows apart, (cap + 1, cap + 1), at most ``cap``."""
    steps = np.arange(cap + 1)
    near = np.minimum(steps[:, None], steps)
    far = np.maximum(steps[:, None], steps)
    shallow = (far - 2 * near) * SIDE + near * KNIGHT
    steep = (2 * near - far) * CORNER + (far - near) * KNIGHT
    lengths: NDArray[np.intp] = np.minimum(np.where(2 * near <= far, shallow, steep), cap * UNIT)
    return lengths
