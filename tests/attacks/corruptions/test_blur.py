"""Blur: single points of light, and a plain loop for glass_blur."""

import numpy as np
import pytest
from numpy.random import RandomState

from attacks.corruptions import CORRUPTIONS, SEVERITIES
from attacks.corruptions.blur import gaussian
from attacks.corruptions.declaration import at
from attacks.corruptions.glass import GLASS_BLUR
from attacks.corruptions.imaging.pixels import Pixels
from attacks.corruptions.imaging.trail import motion_trail
from attacks.corruptions.imaging.zoom import zoom_middle

BLURS = ("gaussian_blur", "defocus_blur", "zoom_blur", "motion_blur", "glass_blur")


def run(name: str, image: Pixels, severity: int) -> Pixels:
    return CORRUPTIONS[name].function(image, severity, RandomState(0))


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", BLURS)
def test_a_flat_image_stays_flat(name: str, severity: int) -> None:
    """Up to the last bit, which truncation makes a level."""
    image = np.full((48, 50, 3), (7, 130, 255), np.uint8)
    out = run(name, image, severity).astype(int)
    assert np.abs(out - image).max() <= 1


@pytest.mark.parametrize("name", BLURS)
def test_channels_do_not_mix(name: str, scene: Pixels) -> None:
    image = scene.copy()
    image[..., 1:] = 0
    out = run(name, image, 3)
    assert not out[..., 1:].any()
    np.testing.assert_array_equal(out[..., 0], run(name, image[..., 0], 3))


def test_defocus_spreads_a_point_over_its_disk() -> None:
    image = np.zeros((64, 64), np.uint8)
    image[30, 33] = 255
    out = run("defocus_blur", image, 1)
    rows, columns = np.nonzero(out)
    assert len(rows) == 29
    assert ((rows - 30) ** 2 + (columns - 33) ** 2).max() == 9
    assert set(out[rows, columns]) == {255 // 29}


def test_trail_falls_behind_a_point_to_the_upper_left() -> None:
    """A pixel shows what lies along the angle, so the point's trail runs against it."""
    image = np.zeros((64, 64), np.uint8)
    image[32, 32] = 255
    weights = np.exp(-(np.arange(21) ** 2) / 18)
    wanted = 255 * weights / weights.sum()
    along_row = motion_trail(image, 10, 3, angle=0)
    np.testing.assert_allclose(along_row[32, 32:11:-1], wanted, atol=1)
    assert along_row.sum(axis=1)[[31, 33]].sum() == 0
    assert not along_row[32, 33:].any()
    upwards = motion_trail(image, 10, 3, angle=-90)
    np.testing.assert_array_equal(upwards[32:53, 32], along_row[32, 32:11:-1])


def test_trail_of_a_flat_image_is_exactly_flat() -> None:
    """ImageMagick rounds on its 16-bit scale before it truncates to bytes."""
    image = np.arange(256, dtype=np.uint8)[:, None, None] * np.ones((1, 33, 34), np.uint8)
    for level in image[::3]:
        np.testing.assert_array_equal(motion_trail(level, 15, 8, angle=20), level)


def test_trail_repeats_the_edge() -> None:
    image = np.zeros((40, 40), np.uint8)
    image[:, -1] = 200
    out = motion_trail(image, 10, 3, angle=0)
    np.testing.assert_allclose(out[:, -1], 200, atol=1)


def test_zoom_by_one_is_the_image_and_by_two_fills_the_frame_with_its_middle() -> None:
    ramp = np.broadcast_to(np.arange(32.0)[:, None, None], (32, 32, 1)).copy()
    np.testing.assert_array_equal(zoom_middle(ramp, 1), ramp)
    # Rows 8 to 23 land on 0 to 31, corners on corners.
    np.testing.assert_allclose(zoom_middle(ramp, 2)[:, 5, 0], np.linspace(8, 23, 32))


def test_zoom_blur_counts_the_image_twice() -> None:
    """At the border a point is in the image itself alone; 12 factors at severity 1."""
    image = np.zeros((224, 224), np.uint8)
    image[0, 100] = 255
    assert run("zoom_blur", image, 1)[0, 100] == int(255 * 2 / 13)


def glass_by_loop(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """As the original reads: one visit after the other."""
    levels = at(GLASS_BLUR, severity)
    reach = int(levels["max_delta"])
    out = gaussian(image, levels["sigma"])
    height, width = image.shape[:2]
    for _ in range(int(levels["passes"])):
        for row in range(height - reach, reach, -1):
            for column in range(width - reach, reach, -1):
                dx, dy = rng.randint(-reach, reach, 2)
                out[row, column] = out[row + dy, column + dx]
    return gaussian(out, levels["sigma"])


@pytest.mark.parametrize("severity", SEVERITIES)
def test_glass_blur_is_the_loop(severity: int, scene: Pixels) -> None:
    image = scene[30:70, 170:215]
    wanted = glass_by_loop(image, severity, RandomState(4))
    found = CORRUPTIONS["glass_blur"].function(image, severity, RandomState(4))
    np.testing.assert_array_equal(found, wanted)
