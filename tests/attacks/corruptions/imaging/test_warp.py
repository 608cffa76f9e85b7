"""The warps of 2018: identity, shifts, borders; the smoothing against scipy."""

import numpy as np
import pytest
from numpy.random import RandomState
from scipy.ndimage import gaussian_filter

from attacks.corruptions.elastic import smooth
from attacks.corruptions.imaging.warp import Planes, displace, warp_affine


@pytest.fixture
def planes() -> Planes:
    return RandomState(0).rand(3, 40, 50).astype(np.float32)


def test_the_identity_changes_nothing(planes: Planes) -> None:
    matrix = np.array([[1.0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(warp_affine(planes, matrix), planes)
    still = np.zeros((40, 50), np.float32)
    np.testing.assert_array_equal(displace(planes, still, still), planes)


def test_affine_reads_to_the_right_and_mirrors_without_the_edge(planes: Planes) -> None:
    shifted = warp_affine(planes, np.array([[1.0, 0, 3], [0, 1, 0]]))
    np.testing.assert_array_equal(shifted[:, :, :47], planes[:, :, 3:])
    np.testing.assert_array_equal(shifted[:, :, 47:], planes[:, :, [48, 47, 46]])


def test_affine_knows_positions_to_a_32nd_pixel(planes: Planes) -> None:
    def by(shift: float) -> Planes:
        return warp_affine(planes, np.array([[1.0, 0, 0], [0, 1, shift]]))

    np.testing.assert_array_equal(by(0.0150), planes)
    np.testing.assert_array_equal(by(0.0165), by(1 / 32))
    mixed = planes[:, :-1] * np.float32(31 / 32) + planes[:, 1:] * np.float32(1 / 32)
    np.testing.assert_allclose(by(1 / 32)[:, :-1], mixed, atol=1e-6)


def test_displacement_is_bilinear_inside(planes: Planes) -> None:
    down = np.full((40, 50), 0.25, np.float32)
    right = np.full((40, 50), 0.5, np.float32)
    moved = displace(planes, down, right)
    rows = 0.75 * planes[:, :-1] + 0.25 * planes[:, 1:]
    wanted = (rows[:, :, :-1] + rows[:, :, 1:]) / 2
    np.testing.assert_allclose(moved[:, :-1, :-1], wanted, atol=1e-6)


def test_just_above_the_image_the_old_border_reads_row_one(planes: Planes) -> None:
    """Position -0.25 is taken for -0.75: a quarter of row -1, which is row 1, and so on."""
    still = np.zeros((40, 50), np.float32)
    moved = displace(planes, still - np.float32(0.25), still)
    wanted = 0.75 * planes[:, 1] + 0.25 * planes[:, 0]
    np.testing.assert_allclose(moved[:, 0], wanted, atol=1e-6)
    below = displace(planes, still + np.float32(0.25), still)
    wanted = 0.75 * planes[:, -1] + 0.25 * planes[:, -2]
    np.testing.assert_allclose(below[:, -1], wanted, atol=1e-6)


@pytest.mark.parametrize("sigma", [0.5, 2.44, 19.52, 170.8])
def test_smoothing_is_scipys(sigma: float) -> None:
    field = RandomState(0).uniform(-1, 1, (33, 48))
    wanted = gaussian_filter(field, sigma, mode="reflect", truncate=3)
    np.testing.assert_allclose(smooth(field, sigma), wanted, atol=1e-14)
