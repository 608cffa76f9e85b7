"""Series keep apart without colour, without good eyes, and in large numbers."""

from itertools import combinations

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from reports.plots.series import COLOURS, HATCHES, look, looks


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.1."""
    light = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in to_rgb(colour)
    ]
    return float(np.dot([0.2126, 0.7152, 0.0722], light))


def test_every_colour_stands_out_from_white_by_three_to_one() -> None:
    for colour in COLOURS:
        assert 1.05 / (luminance(colour) + 0.05) >= 3, colour


def test_colours_keep_apart_for_the_colour_blind() -> None:
    """Distance in Lab after the dichromats' matrices of Vienot, Brettel and Mollon (1999)."""
    matrices = {
        "all colours": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    }
    for matrix in matrices.values():
        seen = [lab(np.array(matrix) @ linear(colour)) for colour in COLOURS]
        for one, other in combinations(seen, 2):
            assert np.linalg.norm(one - other) > 20


Numbers = NDArray[np.float64]


def linear(colour: str) -> Numbers:
    return np.array([((channel + 0.055) / 1.055) ** 2.4 for channel in to_rgb(colour)])


def lab(light: Numbers) -> Numbers:
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    white = np.array([0.9505, 1.0, 1.089])
    x, y, z = np.cbrt(np.maximum(np.array(matrix) @ light / white, 1e-4))
    found: Numbers = np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
    return found


def test_forty_series_differ_in_colour_and_marker_and_without_colour() -> None:
    styles = [look(number) for number in range(40)]
    assert len({(style.colour, style.marker) for style in styles}) == 40
    assert len({(style.marker, style.line, style.filled) for style in styles}) == 40
    assert len({style.line for style in styles[:4]}) == 4


def test_the_promises_hold_to_their_ends() -> None:
    assert len({(look(n).colour, look(n).marker) for n in range(64)}) == 64
    assert len({(look(n).marker, look(n).line, look(n).filled) for n in range(64)}) == 64


def test_the_first_eight_share_neither_colour_nor_marker() -> None:
    assert len({look(number).colour for number in range(8)}) == 8
    assert len({look(number).marker for number in range(8)}) == 8


def test_bars_differ_without_colour() -> None:
    assert len({look(number).hatch for number in range(len(HATCHES))}) == len(HATCHES)


def test_a_label_has_one_look_however_often_it_comes() -> None:
    styles = looks(["a", "b", "a", "c"])
    assert list(styles) == ["a", "b", "c"]
    assert [styles[label] for label in "abc"] == [look(number) for number in range(3)]


def test_hollow_markers_are_white_inside() -> None:
    assert look(0).face == look(0).colour
    assert look(32).face == "white"
