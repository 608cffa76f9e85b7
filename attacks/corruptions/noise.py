"""Noise: Gaussian, shot, impulse, and (extra) speckle."""

import numpy as np
from numpy.random import RandomState

from .declaration import Levels, at, corruption
from .imaging.pixels import Pixels, to_bytes, to_unit

GAUSSIAN_NOISE: Levels = {"sigma": (0.08, 0.12, 0.18, 0.26, 0.38)}
SHOT_NOISE: Levels = {"photons": (60, 25, 12, 5, 3)}
IMPULSE_NOISE: Levels = {"amount": (0.03, 0.06, 0.09, 0.17, 0.27), "salt_fraction": (0.5,) * 5}
SPECKLE_NOISE: Levels = {"sigma": (0.15, 0.2, 0.35, 0.45, 0.6)}


@corruption("gaussian_noise", group="noise", levels=GAUSSIAN_NOISE)
def gaussian_noise(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Add Gaussian noise, every value on its own.

    Draws: one normal field of the image's shape.
    """
    sigma = at(GAUSSIAN_NOISE, severity)["sigma"]
    noisy = rng.normal(scale=sigma, size=image.shape)
    noisy += to_unit(image)
    return to_bytes(noisy)


@corruption("shot_noise", group="noise", levels=SHOT_NOISE)
def shot_noise(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Count photons: every value is a Poisson number around its brightness.

    Draws: one Poisson field of the image's shape.
    """
    photons = at(SHOT_NOISE, severity)["photons"]
    return to_bytes(rng.poisson(to_unit(image) * photons) / photons)


@corruption("impulse_noise", group="noise", levels=IMPULSE_NOISE)
def impulse_noise(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Set a share of the VALUES (not of the pixels) to 0 or 255.

    Draws: one uniform field that says which values are hit, one that says salt or pepper.
    """
    levels = at(IMPULSE_NOISE, severity)
    hit = rng.random_sample(image.shape) < levels["amount"]
    salt = rng.random_sample(image.shape) < levels["salt_fraction"]
    return np.where(hit, salt * np.uint8(255), image)


@corruption("speckle_noise", group="extra", levels=SPECKLE_NOISE)
def speckle_noise(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Multiply every value by 1 plus Gaussian noise.

    Draws: one normal field of the image's shape.
    """
    x = to_unit(image)
    noisy = rng.normal(scale=at(SPECKLE_NOISE, severity)["sigma"], size=image.shape)
    noisy *= x
    noisy += x
    return to_bytes(noisy)
