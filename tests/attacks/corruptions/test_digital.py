"""Pixelate and JPEG."""

import io

import numpy as np
import pytest
from numpy.random import RandomState
from PIL import Image

from attacks.corruptions.digital import jpeg_compression, pixelate
from attacks.corruptions.imaging.pixels import Pixels

RNG = RandomState(0)


def test_pixelate_leaves_blocks_of_their_mean() -> None:
    image = RandomState(0).randint(0, 256, (64, 80, 3)).astype(np.uint8)
    out = pixelate(image, 5, RNG)
    blocks = image.reshape(16, 4, 20, 4, 3).mean(axis=(1, 3))
    # Pillow rounds twice, once for each axis.
    np.testing.assert_allclose(out[::4, ::4], blocks, atol=1)
    np.testing.assert_array_equal(out, out[::4, ::4].repeat(4, axis=0).repeat(4, axis=1))


def test_pixelate_truncates_the_small_size() -> None:
    """Severity 3 of 224 pixels: 89, not 90; so does severity 1: 134."""
    image = RandomState(0).randint(0, 256, (224, 224)).astype(np.uint8)
    small = Image.fromarray(image).resize((89, 89), Image.Resampling.BOX)
    wanted = np.asarray(small.resize((224, 224), Image.Resampling.BOX))
    np.testing.assert_array_equal(pixelate(image, 3, RNG), wanted)


@pytest.mark.parametrize(("severity", "quality"), [(1, 25), (2, 18), (5, 7)])
def test_jpeg_is_pillows(severity: int, quality: int, scene: Pixels) -> None:
    file = io.BytesIO()
    Image.fromarray(scene).save(file, "JPEG", quality=quality)
    wanted = np.asarray(Image.open(file))
    np.testing.assert_array_equal(jpeg_compression(scene, severity, RNG), wanted)
