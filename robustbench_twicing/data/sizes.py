"""How large the images of a data set typically are, from a few of them."""

import numpy as np

from .dataset import Dataset
from .decoding import BadImageError

SAMPLE = 25
"""Images that are decoded for it."""


def typical_side(data: Dataset) -> int | None:
    """Median length of the shorter side, in pixels; None where no image can be decoded.

    Over `SAMPLE` images spread evenly over the data set, so that it costs as little for a large
    one, and a few odd sizes do not matter.
    """
    places = np.linspace(0, len(data) - 1, min(SAMPLE, len(data))).round().astype(int)
    sides = []
    for index in places.tolist():
        try:
            sides.append(min(data.images.picture(index).size))
        except BadImageError:
            continue  # listed with its reason when its turn comes
    return sorted(sides)[len(sides) // 2] if sides else None
