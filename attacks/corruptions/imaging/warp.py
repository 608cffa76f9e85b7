"""Bilinear warps as the libraries of 2018 did them, which those of today do not.

Images are planes (C, H, W) of 32-bit floats, and mirrored beyond the border without repeating the
edge pixel.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# OpenCV before version 5 knew source positions to 1/32 pixel, from sums in 1/1024.
STEPS, SUM_STEPS = 32, 1024
# As many rows at a time as keep the planes in the processor's cache.
ROWS = 32

Planes = NDArray[np.float32]
Plane = NDArray[np.float64]
Indices = NDArray[np.intp]
Real = TypeVar("Real", np.float32, np.float64)


def warp_affine(planes: Planes, matrix: Plane) -> Planes:
    """OpenCV 3's warpAffine, bilinear.

    Args:
        planes: image (C, H, W).
        matrix: (2, 3), from a pixel (x, y, 1) of the result to its source (x, y).
    """
    _, height, width = planes.shape
    by_column = np.rint(matrix[:, :1] * np.arange(width) * SUM_STEPS).astype(np.intp)
    of_rows = matrix[:, 1:2] * np.arange(height) + matrix[:, 2:]
    by_row = np.rint(of_rows * SUM_STEPS).astype(np.intp)
    step = SUM_STEPS // STEPS
    warped = np.empty_like(planes)
    for start in range(0, height, ROWS):
        part = slice(start, start + ROWS)
        right, down = (
            (by_column[axis] + by_row[axis, part, None] + step // 2) // step for axis in (0, 1)
        )
        corner = down // STEPS, right // STEPS
        warped[:, part] = _bilinear(planes, corner, (_share(down), _share(right)))
    return warped


def _share(steps: Indices) -> NDArray[np.float32]:
    """The fraction of a position given in steps of 1/32 pixel."""
    return (steps % STEPS).astype(np.float32) * np.float32(1 / STEPS)


def displace(planes: Planes, down: Planes, right: Planes) -> Planes:
    """Move every pixel: scipy's map_coordinates(order=1, mode="reflect") before its version 1.6.

    A position is mirrored with the edge pixel repeated, but its neighbours without: a position
    just above row 0 is taken for one just above row -1 and reads row 1.

    Args:
        planes: image (C, H, W).
        down: how many rows below its place a pixel is read, (H, W).
        right: how many columns to the right, (H, W).
    """
    _, height, width = planes.shape
    x, y = np.arange(float(width)), np.arange(float(height))[:, None]
    moved = np.empty_like(planes)
    for start in range(0, height, ROWS):
        part = slice(start, start + ROWS)
        rows = _mirrored(y[part] + down[part], height)
        columns = _mirrored(x + right[part], width)
        top, left = np.floor(rows), np.floor(columns)
        corner = top.astype(np.intp), left.astype(np.intp)
        moved[:, part] = _bilinear(planes, corner, (rows - top, columns - left))
    return moved


def _bilinear(
    planes: Planes, corner: tuple[Indices, Indices], shares: tuple[NDArray[Real], NDArray[Real]]
) -> NDArray[Real]:
    """Mix the four neighbours of each position, in the shares' precision.

    Args:
        planes: image (C, H, W).
        corner: row and column of the upper left neighbour, each (M, N).
        shares: of the lower row and of the right column, 0..1, each (M, N).

    Returns:
        (C, M, N).
    """
    channels, height, width = planes.shape
    flat = planes.reshape(channels, -1)
    down: NDArray[Real] = shares[0]
    right: NDArray[Real] = shares[1]
    rows = [_folded(corner[0] + i, height) * width for i in (0, 1)]
    columns = [_folded(corner[1] + i, width) for i in (0, 1)]
    blended = np.zeros((channels, *down.shape), dtype=down.dtype)
    for row, vertical in zip(rows, (1 - down, down), strict=True):
        for column, horizontal in zip(columns, (1 - right, right), strict=True):
            blended += vertical * horizontal * flat.take(row + column, axis=1)
    return blended


def _mirrored(position: Plane, length: int) -> Plane:
    """Positions brought into (-1, length)."""
    if position.min() >= 0 and position.max() < length:
        return position
    position = np.mod(position, 2 * length)
    return np.where(position < length, position, 2 * length - 1 - position)


def _folded(index: Indices, length: int) -> Indices:
    """Indices mirrored into 0..length-1 without repeating the edge."""
    if index.min() >= 0 and index.max() < length:
        return index
    index = np.abs(index) % (2 * length - 2)
    return np.minimum(index, 2 * length - 2 - index)
