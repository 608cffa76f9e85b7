"""Edges, distances and drops."""

import numpy as np
import pytest
from numpy.random import RandomState
from scipy.ndimage import maximum_filter

from attacks.corruptions.imaging.canny import _is_ridge, _sobel, canny
from attacks.corruptions.imaging.chamfer import chamfer_distance
from attacks.corruptions.spatter import MUD, _water, spatter


def test_canny_finds_the_outline_of_a_square() -> None:
    image = np.zeros((40, 40), np.uint8)
    image[10:30, 12:28] = 200
    edges = canny(image)
    rows, columns = np.nonzero(edges)
    assert edges[10:30].any(axis=1).all()
    # One pixel wide, on either side of the step.
    assert set(columns[(rows > 12) & (rows < 27)]) == {11, 27}
    assert set(rows[(columns > 14) & (columns < 25)]) == {9, 29}


@pytest.mark.parametrize(("step", "found"), [(12, False), (13, False), (37, False), (38, True)])
def test_canny_needs_a_strong_pixel(step: int, found: bool) -> None:
    """A vertical step of n has the gradient 4n; strong is above 150."""
    image = np.zeros((40, 40), np.uint8)
    image[:, 20:] = step
    assert canny(image).any() == found


def test_canny_follows_a_weak_edge_from_a_strong_one() -> None:
    image = np.zeros((60, 40), np.uint8)
    image[:, 20:] = np.linspace(80, 14, 60).astype(np.uint8)[:, None]
    assert canny(image).any(axis=1).sum() > 55
    image[:, 20:] = np.linspace(36, 14, 60).astype(np.uint8)[:, None]
    assert not canny(image).any()


def test_canny_leaves_no_ridge_that_touches_an_edge() -> None:
    """Not even at a corner; what touches no strong pixel, even over others, is no edge."""
    image = RandomState(0).randint(0, 45, (40, 40)).astype(np.uint8)
    across, down = _sobel(image)
    strength = np.abs(across) + np.abs(down)
    ridges = (strength > 50) & _is_ridge(strength, across, down)
    reached = ridges & (strength > 150)
    assert 0 < reached.sum() < ridges.sum()
    for _ in range(200):
        reached = ridges & (maximum_filter(reached, 3) > 0)
    assert reached.sum() < ridges.sum()
    np.testing.assert_array_equal(canny(image), reached)


def test_chamfer_distance_of_a_point_is_the_shortest_path() -> None:
    """By relaxation over the three steps until nothing changes."""
    marks = np.zeros((30, 34), bool)
    marks[11, 20] = True
    wanted = np.where(marks, 0.0, 1e9)
    steps = [
        (row, column, {1: 1.0, 2: 1.4, 5: 2.1969}[row**2 + column**2])
        for row in range(-2, 3)
        for column in range(-2, 3)
        if row**2 + column**2 in (1, 2, 5)
    ]
    for _ in range(40):
        around = np.pad(wanted, 2, constant_values=1e9)
        for row, column, length in steps:
            shifted = around[2 + row : 32 + row, 2 + column : 36 + column]
            wanted = np.minimum(wanted, shifted + length)
    found = chamfer_distance(marks, cap=20)
    np.testing.assert_allclose(found, np.minimum(wanted, 20), atol=1e-3)


def test_chamfer_distance_takes_the_nearest_of_many_and_the_cap_of_none() -> None:
    marks = RandomState(0).rand(40, 40) < 0.01
    alone = []
    for row, column in np.argwhere(marks):
        point = np.zeros_like(marks)
        point[row, column] = True
        alone.append(chamfer_distance(point, cap=20))
    np.testing.assert_array_equal(chamfer_distance(marks, cap=20), np.min(alone, axis=0))
    np.testing.assert_array_equal(chamfer_distance(np.zeros_like(marks), cap=20), 20)


def test_without_a_drop_there_is_no_light() -> None:
    assert not _water(np.zeros((32, 40)), 0.5).any()


def test_mud_covers_and_water_brightens() -> None:
    black, white = (np.full((128, 128, 3), value, np.uint8) for value in (0, 255))
    mud = spatter(white, 5, RandomState(0))
    covered = (mud < 100).all(axis=-1)
    assert 0.05 < covered.mean() < 0.8
    np.testing.assert_allclose(mud[covered].min(axis=0), 255 * MUD, atol=1)
    water = spatter(black, 1, RandomState(0)).astype(int)
    assert water.max() <= 238 * 0.6
    # More green and blue than red, by 238 to 175; nothing where there is no drop.
    wet = water[..., 0] > 20
    np.testing.assert_allclose(water[wet][:, 1] / water[wet][:, 0], 238 / 175, atol=0.07)
    assert (water == 0).all(axis=-1).mean() > 0.2
