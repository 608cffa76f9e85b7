"""spatter (extra): drops of water or mud on the lens."""

from typing import TypeVar

import numpy as np
import scipy
from numpy.random import RandomState
from numpy.typing import NDArray

from .declaration import Levels, at, corruption
from .imaging.canny import canny
from .imaging.chamfer import chamfer_distance
from .imaging.pixels import Pixels, to_bytes

SPATTER: Levels = {
    "mean": (0.65, 0.65, 0.65, 0.65, 0.67),
    "std": (0.3, 0.3, 0.3, 0.3, 0.4),
    "sigma": (4, 3, 2, 1, 1),
    "threshold": (0.69, 0.68, 0.68, 0.65, 0.65),
    # Of the water (severities 1 to 3) the strength, of the mud the blur of its mask.
    "strength_or_mask_sigma": (0.6, 0.6, 0.5, 1.5, 1.5),
}
# Red, green, blue: the original's comments say blue first, its arrays do not.
WATER = np.array([175, 238, 238], dtype=np.float32) / np.float32(255)
MUD = np.array([63, 42, 20], dtype=np.float32) / np.float32(255)

# Light comes from the upper left.
SLOPE = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], dtype=np.int32)

Plane = NDArray[np.float64]
Number = TypeVar("Number", np.int32, np.float64)


@corruption("spatter", group="extra", levels=SPATTER, grey=False)
def spatter(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Splash water (severities 1 to 3) or mud (4 and 5); RGB only.

    Draws: one normal field (H, W).
    """
    levels = at(SPATTER, severity)
    liquid = rng.normal(levels["mean"], levels["std"], image.shape[:2])
    liquid = scipy.ndimage.gaussian_filter(liquid, levels["sigma"], mode="nearest", truncate=4)
    liquid[liquid < levels["threshold"]] = 0
    x = np.divide(image, 255, dtype=np.float32)
    # Channel by channel: numpy is slow where the last axis has three elements.
    if severity <= 3:
        light = _water(liquid, levels["strength_or_mask_sigma"])
        for channel, colour in enumerate(WATER):
            x[..., channel] += light * colour
        return to_bytes(x)
    drops = (liquid > levels["threshold"]).astype(np.float64)
    drops = scipy.ndimage.gaussian_filter(
        drops, levels["strength_or_mask_sigma"], mode="nearest", truncate=4
    )
    drops[drops < 0.8] = 0
    for channel, colour in enumerate(MUD):
        x[..., channel] *= 1 - drops
        x[..., channel] += (colour * drops).astype(np.float32)
    return to_bytes(x)


def _water(liquid: Plane, strength: float) -> NDArray[np.float32]:
    """How much light each drop adds, embossed at its rim."""
    layer = to_bytes(liquid)
    distance = chamfer_distance(canny(layer), cap=20).astype(np.float64)
    mean = (_box_sum(distance) * (1 / 9)).astype(np.float32)
    relief = _embossed(_equalised(mean.astype(np.intp)))
    light = layer.astype(np.float32)
    light *= np.rint(_box_sum(relief) / 9).astype(np.float32)
    # A small image may have no drop at all.
    light /= light.max() or 1
    light *= np.float32(strength)
    return light


def _box_sum(x: NDArray[Number]) -> NDArray[Number]:
    """Sum over 3 x 3 neighbours, mirrored without repeating the edge."""
    x = np.pad(x, 1, mode="reflect")
    rows = x[:-2] + x[1:-1] + x[2:]
    total: NDArray[Number] = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
    return total


def _equalised(x: NDArray[np.intp]) -> NDArray[np.int32]:
    """OpenCV's histogram equalisation of whole numbers 0..255."""
    counts = np.bincount(x.ravel(), minlength=256)
    lowest = int(np.flatnonzero(counts)[0])
    others = x.size - counts[lowest]
    if others == 0:
        return x.astype(np.int32)
    counts[: lowest + 1] = 0
    table = np.rint(np.cumsum(counts) * (np.float32(255) / np.float32(others)))
    equalised: NDArray[np.int32] = table.astype(np.int32).take(x)
    return equalised


def _embossed(x: NDArray[np.int32]) -> NDArray[np.int32]:
    """Light from the upper left: correlation with a slope, limited to 0..255."""
    height, width = x.shape
    around = np.pad(x, 1, mode="reflect")
    total = np.zeros_like(x)
    for (row, column), weight in np.ndenumerate(SLOPE):
        total += weight * around[row : row + height, column : column + width]
    np.clip(total, 0, 255, out=total)
    return total
