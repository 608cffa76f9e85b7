"""Brightness, saturation and contrast against colorsys and by hand."""

import colorsys

import numpy as np
import pytest
from numpy.random import RandomState

from attacks.corruptions import SEVERITIES
from attacks.corruptions.colour import BRIGHTNESS, SATURATE, brightness, contrast, saturate
from attacks.corruptions.declaration import at
from attacks.corruptions.imaging.pixels import Pixels

RNG = RandomState(0)


@pytest.fixture(scope="module")
def colours() -> Pixels:
    """More pixels than one part of the work, all kinds of colours, and greys."""
    image = RandomState(1).randint(0, 256, (100, 90, 3)).astype(np.uint8)
    image[:10] = image[:10, :, :1]
    image[10:20, :, 1] = image[10:20, :, 0]
    image[20:30, :, 2] = image[20:30, :, 1]
    image[30] = 0
    image[31] = 255
    return image


@pytest.mark.slow
@pytest.mark.parametrize("severity", SEVERITIES)
def test_brightness_adds_to_the_value(colours: Pixels, severity: int) -> None:
    shift = at(BRIGHTNESS, severity)["hsv_value_shift"]
    out = brightness(colours, severity, RNG)
    for pixel, found in zip(colours.reshape(-1, 3)[::7], out.reshape(-1, 3)[::7], strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*(pixel / 255))
        wanted = colorsys.hsv_to_rgb(hue, saturation, min(value + shift, 1))
        np.testing.assert_allclose(found, 255 * np.array(wanted) - 0.5, atol=0.51)


@pytest.mark.slow
@pytest.mark.parametrize("severity", SEVERITIES)
def test_saturate_scales_the_saturation(colours: Pixels, severity: int) -> None:
    levels = at(SATURATE, severity)
    out = saturate(colours, severity, RNG)
    for pixel, found in zip(colours.reshape(-1, 3)[::7], out.reshape(-1, 3)[::7], strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*(pixel / 255))
        saturation = saturation * levels["hsv_sat_scale"] + levels["hsv_sat_shift"]
        wanted = colorsys.hsv_to_rgb(hue, min(saturation, 1), value)
        np.testing.assert_allclose(found, 255 * np.array(wanted) - 0.5, atol=0.51)


def test_saturate_reddens_grey_from_severity_four() -> None:
    grey = np.full((32, 32, 3), 200, np.uint8)
    np.testing.assert_array_equal(saturate(grey, 3, RNG), grey)
    red, green, blue = saturate(grey, 5, RNG)[0, 0]
    assert red == 200
    assert green == blue == 160


def test_brightness_of_grey_is_that_of_equal_channels() -> None:
    grey = np.arange(32 * 40, dtype=np.uint8).reshape(32, 40)
    colour = brightness(np.stack([grey] * 3, axis=-1), 2, RNG)
    for channel in range(3):
        np.testing.assert_array_equal(colour[..., channel], brightness(grey, 2, RNG))


def test_contrast_scales_around_each_channels_own_mean() -> None:
    image = np.zeros((40, 40, 3), np.uint8)
    image[:20] = (200, 100, 0)
    image[20:] = (100, 0, 250)
    out = contrast(image, 1, RNG).astype(float)
    np.testing.assert_allclose(out[0, 0], (170, 70, 75), atol=1)
    np.testing.assert_allclose(out[-1, 0], (130, 30, 175), atol=1)
