"""Digital: pixelate and JPEG compression."""

import numpy as np
from numpy.random import RandomState
from PIL import Image

from .declaration import Levels, at, corruption
from .imaging.jpeg import store_as_jpeg
from .imaging.pixels import Pixels

PIXELATE: Levels = {"scale": (0.6, 0.5, 0.4, 0.3, 0.25)}
JPEG_COMPRESSION: Levels = {"quality": (25, 18, 15, 10, 7)}


@corruption("pixelate", group="digital", levels=PIXELATE)
def pixelate(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Shrink with a box filter and enlarge again. Draws nothing."""
    scale = at(PIXELATE, severity)["scale"]
    height, width = image.shape[:2]
    small = Image.fromarray(image).resize(
        (int(width * scale), int(height * scale)), Image.Resampling.BOX
    )
    return np.array(small.resize((width, height), Image.Resampling.BOX))


@corruption("jpeg_compression", group="digital", levels=JPEG_COMPRESSION)
def jpeg_compression(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Save as JPEG of low quality, Pillow's defaults otherwise (4:2:0). Draws nothing."""
    return store_as_jpeg(image, int(at(JPEG_COMPRESSION, severity)["quality"]))
