"""Blur: defocus, motion, zoom, and (extra) Gaussian; glass_blur has its own file."""

from functools import lru_cache

import numpy as np
import scipy
from numpy.random import RandomState
from numpy.typing import NDArray

from .declaration import Levels, at, corruption
from .imaging.pixels import Pixels, by_channel, to_bytes, to_unit
from .imaging.trail import motion_trail
from .imaging.zoom import zoom_middle

GAUSSIAN_BLUR: Levels = {"sigma": (1, 2, 3, 4, 6)}
DEFOCUS_BLUR: Levels = {"radius": (3, 4, 6, 8, 10), "alias_sigma": (0.1, 0.5, 0.5, 0.5, 0.5)}
MOTION_BLUR: Levels = {"radius": (10, 15, 15, 15, 20), "sigma": (3, 5, 8, 12, 15)}
ZOOM_BLUR: Levels = {
    "step": (0.01, 0.01, 0.02, 0.02, 0.03),
    "stop_exclusive": (1.11, 1.16, 1.21, 1.26, 1.31),
}


def gaussian(image: Pixels, sigma: float) -> Pixels:
    """Blur an image (H, W) or (H, W, C); cut at 4 sigma, the edge pixel repeats."""

    def blurred(plane: Pixels) -> Pixels:
        x = to_unit(plane)
        return to_bytes(
            scipy.ndimage.gaussian_filter(x, sigma, output=x, mode="nearest", truncate=4)
        )

    return by_channel(image, blurred)


@corruption("gaussian_blur", group="extra", levels=GAUSSIAN_BLUR)
def gaussian_blur(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Blur with a Gaussian. Draws nothing."""
    return gaussian(image, at(GAUSSIAN_BLUR, severity)["sigma"])


@corruption("motion_blur", group="blur", levels=MOTION_BLUR)
def motion_blur(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Smear along a direction near the horizontal.

    Draws: the angle, uniform in [-45, 45) degrees.
    """
    levels = at(MOTION_BLUR, severity)
    return motion_trail(image, levels["radius"], levels["sigma"], angle=rng.uniform(-45, 45))


@corruption("zoom_blur", group="blur", levels=ZOOM_BLUR)
def zoom_blur(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Average the image with enlargements of its middle. Draws nothing.

    The factors start at 1, so the image itself counts twice. `arange` is meant: at severity 1
    floating point lets it reach 1.11, as it did in the original.
    """
    levels = at(ZOOM_BLUR, severity)
    factors = np.arange(1, levels["stop_exclusive"], levels["step"]).tolist()
    x = np.atleast_3d(np.divide(image, 255, dtype=np.float32))
    total = x + x
    for factor in factors[1:]:
        total += zoom_middle(x, factor)
    total /= len(factors) + 1
    return to_bytes(total).reshape(image.shape)


@corruption("defocus_blur", group="blur", levels=DEFOCUS_BLUR)
def defocus_blur(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Convolve with a disk whose rim is smoothed. Draws nothing."""
    levels = at(DEFOCUS_BLUR, severity)
    radius, alias_sigma = levels["radius"], levels["alias_sigma"]
    reach = len(_disk(radius, alias_sigma)) // 2
    height, width = image.shape[:2]
    size = [scipy.fft.next_fast_len(side + 2 * reach, real=True) for side in (height, width)]
    spectrum = _disk_spectrum(radius, alias_sigma, *size)

    def blurred(plane: Pixels) -> Pixels:
        padded = np.pad(plane, reach, mode="reflect") / 255.0
        filtered = scipy.fft.rfft2(padded, s=size, overwrite_x=True)
        filtered *= spectrum
        rows = scipy.fft.ifft(filtered, axis=0, overwrite_x=True)[2 * reach : 2 * reach + height]
        return to_bytes(scipy.fft.irfft(rows, n=size[1])[:, 2 * reach : 2 * reach + width])

    return by_channel(image, blurred)


@lru_cache(maxsize=5)
def _disk(radius: float, alias_sigma: float) -> NDArray[np.float64]:
    """A disk of sum 1 on a square grid, smoothed by a small Gaussian window."""
    reach, window = (8, 1) if radius <= 8 else (int(radius), 2)
    steps = np.arange(-reach, reach + 1)
    disk = (steps[:, None] ** 2 + steps**2 <= radius**2).astype(np.float32)
    disk /= disk.sum()
    smooth = np.exp(-(np.arange(-window, window + 1) ** 2) / (2 * alias_sigma**2))
    smooth /= smooth.sum()
    padded = np.pad(disk, window, mode="reflect")
    rows = sum(w * padded[i : i + len(disk)] for i, w in enumerate(smooth))
    kernel: NDArray[np.float64] = sum(w * rows[:, i : i + len(disk)] for i, w in enumerate(smooth))
    return kernel


@lru_cache(maxsize=10)
def _disk_spectrum(
    radius: float, alias_sigma: float, height: int, width: int
) -> NDArray[np.complex128]:
    """The disk's spectrum on a grid of height x width; it depends on nothing else."""
    return scipy.fft.rfft2(_disk(radius, alias_sigma), s=(height, width))
