"""Colour: brightness and (extra) saturate change one part of HSV, contrast scales around the mean.

The arithmetic is scikit-image's, operation by operation: results that ought to be whole numbers
come out just above or below, and truncation shows it.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from .declaration import Levels, at, corruption
from .imaging.pixels import Pixels, to_bytes, to_unit

BRIGHTNESS: Levels = {"hsv_value_shift": (0.1, 0.2, 0.3, 0.4, 0.5)}
CONTRAST: Levels = {"factor": (0.4, 0.3, 0.2, 0.1, 0.05)}
SATURATE: Levels = {"hsv_sat_scale": (0.3, 0.1, 2, 5, 20), "hsv_sat_shift": (0, 0, 0, 0.1, 0.2)}

Plane = NDArray[np.float64]

# For each sextant of the colour circle: where red, green and blue are found among
# the largest channel (0), the middle one (1) and the smallest (2).
SEXTANTS = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [1, 2, 0], [0, 2, 1]])
# As many pixels at a time as keep a dozen planes in the processor's cache.
PIXELS = 8192


@corruption("brightness", group="weather", levels=BRIGHTNESS)
def brightness(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Add to the HSV value. Draws nothing."""
    shift = at(BRIGHTNESS, severity)["hsv_value_shift"]
    if image.ndim == 2:
        return to_bytes(to_unit(image) + shift)
    return _change_hsv(image, lambda saturation, value: (saturation, value + shift))


@corruption("saturate", group="extra", levels=SATURATE, grey=False)
def saturate(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Scale and shift the HSV saturation; RGB only. Draws nothing.

    A grey pixel's hue is red, so severities 4 and 5 redden greys: that is the original's way.
    """
    levels = at(SATURATE, severity)
    scale, shift = levels["hsv_sat_scale"], levels["hsv_sat_shift"]
    return _change_hsv(image, lambda saturation, value: (saturation * scale + shift, value))


@corruption("contrast", group="digital", levels=CONTRAST)
def contrast(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Scale around each channel's own mean. Draws nothing."""
    factor = at(CONTRAST, severity)["factor"]
    mean = to_unit(image).mean(axis=(0, 1))
    # All a channel can become, by its byte.
    table = to_bytes((np.arange(256)[:, None] / 255.0 - mean) * factor + mean)
    planes = np.atleast_3d(image)
    changed = [table[:, channel].take(planes[..., channel]) for channel in range(planes.shape[-1])]
    return np.stack(changed, axis=-1).reshape(image.shape)


def _change_hsv(image: Pixels, change: Callable[[Plane, Plane], tuple[Plane, Plane]]) -> Pixels:
    """RGB to HSV, ``change`` saturation and value, clip both to 0..1, and back to RGB bytes."""
    pixels = image.reshape(-1, 3)
    changed = np.empty_like(pixels)
    for start in range(0, len(pixels), PIXELS):
        part = slice(start, start + PIXELS)
        hue, saturation, value = _hsv(to_unit(pixels[part]).T)
        saturation, value = change(saturation, value)
        changed[part] = _rgb(hue, saturation.clip(0, 1), value.clip(0, 1))
    return changed.reshape(image.shape)


def _hsv(rgb: Plane) -> tuple[Plane, Plane, Plane]:
    """Hue on a circle of 6, saturation and value in 0..1, from channels (3, N) in 0..1."""
    red, green, blue = rgb
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    bluest, greenest = blue == value, green == value
    hue = np.where(bluest, red - green, np.where(greenest, blue - red, green - blue))
    hue /= spread + (spread == 0)
    hue += np.where(bluest, 4.0, np.where(greenest, 2.0, 0.0))
    hue[spread == 0] = 0
    hue /= 6
    hue -= np.floor(hue)
    return hue * 6, spread / (value + (value == 0)), value


def _rgb(hue: Plane, saturation: Plane, value: Plane) -> Pixels:
    """Bytes (N, 3) from hue on a circle of 6, saturation and value in 0..1."""
    sextant = hue.astype(np.intp)
    rest = hue - sextant
    rest = np.where(sextant & 1, rest, 1 - rest)
    sizes = np.stack([value, value * (1 - rest * saturation), value * (1 - saturation)])
    entries = (SEXTANTS * len(hue)).take(sextant % 6, axis=0)
    entries += np.arange(len(hue))[:, None]
    return to_bytes(sizes).take(entries)
