"""glass_blur: pixels look through a rippled pane."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from .blur import gaussian
from .pixels import Pixels, to_bytes, to_unit
from .severity import Levels, at

GLASS_BLUR: Levels = {
    "sigma": (0.7, 0.9, 1, 1.1, 1.5),
    "max_delta": (1, 2, 2, 3, 4),
    "passes": (2, 1, 3, 2, 2),
}


def glass_blur(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Blur, let pixels copy near neighbours, blur again.

    The original means to swap two pixels but assigns views of one array: the neighbour stays as
    it is. A true swap would be another, milder corruption.

    Draws: for each pass and visited pixel two integers in [-reach, reach), first dx, then dy.
    """
    levels = at(GLASS_BLUR, severity)
    reach = int(levels["max_delta"])
    blurred = to_bytes(gaussian(to_unit(image), levels["sigma"]))
    height, width = image.shape[:2]
    source = np.arange(height * width)
    for _ in range(int(levels["passes"])):
        source = source[_copied_from(height, width, reach, rng)]
    pixels = blurred.reshape(height * width, -1)
    moved = pixels[source].reshape(image.shape)
    return to_bytes(gaussian(to_unit(moved), levels["sigma"]))


def _copied_from(height: int, width: int, reach: int, rng: RandomState) -> NDArray[np.intp]:
    """Flat index of the pixel that each pixel shows after one pass.

    Pixels are visited from the last row and column to the first. A visit copies the current value
    of a neighbour: its new value where the neighbour was visited before, else its old one. So
    follow the neighbours to the first that had not been visited, doubling the stride each time.
    """
    rows = np.arange(height - reach, reach, -1)
    columns = np.arange(width - reach, reach, -1)
    visited = (rows[:, None] * width + columns).ravel()
    shift = rng.randint(-reach, reach, (len(visited), 2))
    neighbour = visited + shift[:, 1] * width + shift[:, 0]
    pixels = height * width
    was_visited = np.zeros(pixels, dtype=bool)
    was_visited[visited] = True
    # The second half of `link` stands for old values: where a chain ends.
    link = np.concatenate([np.arange(pixels, 2 * pixels)] * 2)
    old = (neighbour <= visited) | ~was_visited[neighbour]
    link[visited] = neighbour + pixels * old
    while True:
        further = link[link]
        if np.array_equal(further, link):
            return link[:pixels] - pixels
        link = further
