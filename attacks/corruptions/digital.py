"""Digital: pixelate and JPEG compression."""

import io

import numpy as np
from numpy.random import RandomState
from PIL import Image

from .imaging.pixels import Pixels
from .parameters import Levels, at

PIXELATE: Levels = {"scale": (0.6, 0.5, 0.4, 0.3, 0.25)}
JPEG_COMPRESSION: Levels = {"quality": (25, 18, 15, 10, 7)}


def pixelate(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Shrink with a box filter and enlarge again. Draws nothing."""
    scale = at(PIXELATE, severity)["scale"]
    height, width = image.shape[:2]
    small = Image.fromarray(image).resize(
        (int(width * scale), int(height * scale)), Image.Resampling.BOX
    )
    return np.array(small.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Save as JPEG of low quality, Pillow's defaults otherwise (4:2:0). Draws nothing."""
    return store_as_jpeg(image, int(at(JPEG_COMPRESSION, severity)["quality"]))


def store_as_jpeg(image: Pixels, quality: int) -> Pixels:
    """Write as JPEG, chroma at half the resolution (4:2:0), and read again.

    The files of the official ImageNet-C were made so, with quality 85: it removes a quarter of
    the strength of the noise corruptions. They were optimised too, which loses nothing and
    changes no pixel.
    """
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality, subsampling="4:2:0")
    return np.array(Image.open(file))
