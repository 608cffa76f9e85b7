"""Images and frost textures for the corruption tests."""

import numpy as np
import pytest

from attacks.corruptions import frost_textures
from attacks.corruptions.imaging.pixels import Pixels
from robustbench_twicing.errors import UserError


@pytest.fixture(scope="session")
def frost() -> None:
    """The textures are not ours to ship: without them the test is skipped, with the reason."""
    try:
        frost_textures()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def scene() -> Pixels:
    """Waves, a flat bright square, black and white: RGB, 224 x 224."""
    y, x = np.mgrid[0:224, 0:224]
    planes = [127 + 90 * np.sin(x / 9) * np.cos(y / 23), 127 + 80 * np.sin((x + y) / 31), y * 0.6]
    image = np.stack(planes, axis=-1).astype(np.uint8)
    image[40:90, 120:190] = (220, 40, 30)
    image[:20, :20] = 0
    image[:20, 20:40] = 255
    return image
