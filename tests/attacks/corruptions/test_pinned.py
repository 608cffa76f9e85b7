"""Sixteen pixels of ImageNet-C's corruptions at every severity, so that nothing moves unseen.

The values were written by this suite when it equalled the 2018 outputs (see test_golden.py);
unlike those they are at hand everywhere. Borders and corners are among the pixels.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from attacks.corruptions import EXTRA, MAIN, SEVERITIES, corrupt, image_rng
from attacks.corruptions.imaging.pixels import Pixels

ROWS = (0, 0, 0, 223, 223, 1, 112, 40, 65, 89, 150, 199, 20, 31, 180, 77)
COLUMNS = (0, 223, 100, 0, 223, 221, 222, 120, 150, 189, 3, 60, 38, 20, 130, 111)
PINNED = json.loads((Path(__file__).parent / "pinned_pixels.json").read_text())


@pytest.mark.parametrize("severity", SEVERITIES)
# How a JPEG is decoded is the library's affair; test_digital.py compares with Pillow.
@pytest.mark.parametrize("name", sorted({*MAIN, *EXTRA} - {"jpeg_compression"}))
def test_pixels_are_where_they_were(
    name: str, severity: int, scene: Pixels, request: pytest.FixtureRequest
) -> None:
    if name == "frost":
        request.getfixturevalue("frost")
    rng = image_rng(0, name, severity, "scene")
    out = corrupt(scene, name, severity, rng, jpeg_quality=None)
    found = out[ROWS, COLUMNS].astype(int)
    # Flat areas tip over with the last bit of an FFT or a cosine.
    np.testing.assert_allclose(found, PINNED[f"{name}/{severity}"], rtol=0, atol=1)
