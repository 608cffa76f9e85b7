"""Snow and fog: whitening, wrapping, range."""

import numpy as np
import pytest
from numpy.random import RandomState

from attacks.corruptions import SEVERITIES
from attacks.corruptions.imaging.pixels import Pixels
from attacks.corruptions.imaging.plasma import plasma
from attacks.corruptions.weather import fog, snow


def test_plasma_fills_zero_to_one_and_is_rougher_with_a_smaller_decay() -> None:
    smooth, rough = (plasma(64, decay, RandomState(0)) for decay in (3, 1.3))
    for field in (smooth, rough):
        assert field.shape == (64, 64)
        assert field.min() == 0
        assert field.max() == 1
    steps = [np.abs(np.diff(field, axis=0)).mean() for field in (smooth, rough)]
    assert steps[1] > 3 * steps[0]


def test_plasma_wraps_around() -> None:
    field = plasma(64, 3, RandomState(1))
    across = np.abs(field[0] - field[-1]).mean()
    inside = np.abs(field[32] - field[31]).mean()
    assert across < 4 * inside


def test_plasma_of_two_by_two_in_closed_form() -> None:
    """One level: the middle from four equal corners, then two sides from two of each."""
    rng = RandomState(0)
    middle = 100 * rng.uniform(-100, 100)
    right = middle / 2 + 100 * rng.uniform(-100, 100)
    below = middle / 2 + 100 * rng.uniform(-100, 100)
    field = np.array([[0, right], [below, middle]])
    wanted = (field - field.min()) / (field.max() - field.min())
    np.testing.assert_allclose(plasma(2, 2, RandomState(0)), wanted)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_fog_on_black_keeps_black_and_keeps_the_brightest_value(severity: int) -> None:
    assert not fog(np.zeros((40, 40, 3), np.uint8), severity, RandomState(0)).any()
    white = fog(np.full((256, 256, 3), 255, np.uint8), severity, RandomState(0))
    # x = 1 under the densest fog is 1 again, under none 1 / (1 + strength).
    strength = (1.5, 2, 2.5, 2.5, 3)[severity - 1]
    assert white.max() == 255
    assert white.min() == int(255 / (1 + strength))


def test_fog_is_grey_and_the_top_left_of_one_map(scene: Pixels) -> None:
    whole = fog(scene, 2, RandomState(3))
    corner = np.zeros((64, 64, 3), np.uint8) + np.uint8(scene.max())
    large = np.zeros((200, 200, 3), np.uint8) + np.uint8(scene.max())
    np.testing.assert_array_equal(
        fog(corner, 2, RandomState(3)), fog(large, 2, RandomState(3))[:64, :64]
    )
    assert whole.shape == scene.shape
    assert np.ptp(fog(corner, 2, RandomState(3)).astype(int), axis=-1).max() == 0


@pytest.mark.parametrize("severity", SEVERITIES)
def test_snow_only_brightens_dark_places(severity: int) -> None:
    black = np.zeros((64, 64, 3), np.uint8)
    out = snow(black, severity, RandomState(0))
    keep = (0.8, 0.7, 0.7, 0.65, 0.55)[severity - 1]
    # Without a flake black becomes (1 - keep) / 2.
    assert out.min() == int(255 * (1 - keep) * 0.5)
    # Flakes are grey and fall twice, turned by half a turn.
    assert np.ptp(out.astype(int), axis=-1).max() == 0
    np.testing.assert_array_equal(out, out[::-1, ::-1])
