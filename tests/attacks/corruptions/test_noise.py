"""Noise: what the formula says on images where it can be said."""

import numpy as np
import pytest
from numpy.random import RandomState

from attacks.corruptions import CORRUPTIONS
from attacks.corruptions.imaging.pixels import Pixels


def run(name: str, image: Pixels, severity: int) -> Pixels:
    return CORRUPTIONS[name].function(image, severity, RandomState(0))


def flat(value: int) -> Pixels:
    return np.full((200, 200, 3), value, np.uint8)


@pytest.mark.parametrize(("severity", "sigma"), [(1, 0.08), (3, 0.18)])
def test_gaussian_noise_has_its_strength(severity: int, sigma: float) -> None:
    noise = run("gaussian_noise", flat(128), severity) - 128.0
    assert noise.std() == pytest.approx(255 * sigma, rel=0.02)
    # Truncation takes half a level.
    assert noise.mean() == pytest.approx(-0.5, abs=0.5)


def test_shot_noise_has_the_variance_of_photons_and_keeps_black() -> None:
    grey = run("shot_noise", flat(51), 1)
    assert grey.astype(float).var() == pytest.approx(255**2 * 0.2 / 60, rel=0.03)
    assert grey.mean() == pytest.approx(51, abs=0.6)
    assert not run("shot_noise", flat(0), 5).any()


@pytest.mark.parametrize(("severity", "amount"), [(1, 0.03), (5, 0.27)])
def test_impulse_noise_hits_values_not_pixels_half_of_them_white(
    severity: int, amount: float
) -> None:
    out = run("impulse_noise", flat(100), severity)
    hit = out != 100
    assert hit.mean() == pytest.approx(amount, rel=0.03)
    assert (out[hit] == 255).mean() == pytest.approx(0.5, abs=0.03)
    assert set(np.unique(out)) == {0, 100, 255}
    assert hit.all(axis=-1).mean() == pytest.approx(amount**3, abs=0.004)


def test_speckle_noise_grows_with_brightness_and_keeps_black() -> None:
    dark, bright = (run("speckle_noise", flat(v), 1).astype(float).std() for v in (40, 120))
    assert bright / dark == pytest.approx(3, rel=0.03)
    assert not run("speckle_noise", flat(0), 5).any()
