"""elastic_transform: an affine jitter, then a smooth random displacement of every pixel."""

from functools import lru_cache

import numpy as np
import scipy
from numpy.random import RandomState
from numpy.typing import NDArray

from robustbench_twicing.data.imagenet_c import SIDE

from .declaration import Levels, at, corruption
from .imaging.pixels import Pixels, to_bytes
from .imaging.warp import displace, warp_affine

# In pixels at 224 x 224; multiples of 244, a slip for 224 that has to be kept.
ELASTIC_TRANSFORM: Levels = {
    "alpha": (488, 488, 12.2, 17.08, 29.28),
    "sigma": (170.8, 19.52, 2.44, 2.44, 2.44),
    "affine_jitter_px": (24.4, 48.8, 4.88, 4.88, 4.88),
}

Plane = NDArray[np.float64]


@corruption("elastic_transform", group="digital", levels=ELASTIC_TRANSFORM)
def elastic_transform(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Jitter three points of the image, then shift every pixel a little.

    At other sizes than 224 x 224 the constants scale with the shorter side.

    Draws: uniform (3, 2), the jitter of three points in x and y; then one uniform field (H, W)
    for the displacement in x and one for that in y.
    """
    height, width = image.shape[:2]
    scale = min(height, width) / SIDE
    levels = {name: value * scale for name, value in at(ELASTIC_TRANSFORM, severity).items()}
    jitter = levels["affine_jitter_px"]
    matrix = _source_matrix(height, width, rng.uniform(-jitter, jitter, (3, 2)))
    right, down = (
        (smooth(rng.uniform(-1, 1, (height, width)), levels["sigma"]) * levels["alpha"]).astype(
            np.float32
        )
        for _ in "xy"
    )
    planes = np.ascontiguousarray(np.moveaxis(np.atleast_3d(image), -1, 0))
    warped = warp_affine(np.divide(planes, 255, dtype=np.float32), matrix)
    moved = to_bytes(displace(warped, down, right))
    return np.ascontiguousarray(np.moveaxis(moved, 0, -1)).reshape(image.shape)


def _source_matrix(height: int, width: int, jitter: Plane) -> Plane:
    """The affine map (2, 3) from a pixel (x, y, 1) to where it comes from.

    Args:
        height: of the image, in pixels.
        width: of the image, in pixels.
        jitter: (3, 2), how far each of three points moves in x and y, in pixels.
    """
    reach = min(height, width) // 3
    corners = np.array([[reach, reach], [reach, -reach], [-reach, -reach]])
    points = np.array([width // 2, height // 2]) + corners
    # OpenCV was given the points in single precision.
    moved = points.astype(np.float32) + jitter.astype(np.float32)
    targets, sources = (np.column_stack([corner, np.ones(3)]) for corner in (moved, points))
    matrix: Plane = np.linalg.solve(targets, sources)[:, :2].T
    return matrix


def smooth(field: Plane, sigma: float) -> Plane:
    """Gaussian blur of (H, W), cut at 3 sigma, mirrored with the edge repeated.

    A cosine transform has just that border, and does not mind the 1025 taps of sigma 170.8.
    """
    gains = np.multiply.outer(*(_gain(side, sigma) for side in field.shape))
    smoothed: Plane = scipy.fft.idctn(scipy.fft.dctn(field) * gains, overwrite_x=True)
    return smoothed


@lru_cache(maxsize=8)
def _gain(side: int, sigma: float) -> Plane:
    """What the blur leaves of each cosine of an axis, (side,)."""
    reach = int(3 * sigma + 0.5)
    taps = np.arange(-reach, reach + 1)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    weights /= weights.sum()
    # Not a matrix product: BLAS may round differently with another number of threads.
    gain: Plane = (np.cos(np.pi / side * np.outer(np.arange(side), taps)) * weights).sum(axis=1)
    return gain
