"""glass_blur: pixels look through a rippled pane."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from .blur import gaussian
from .declaration import Levels, at, corruption
from .imaging.pixels import Pixels

GLASS_BLUR: Levels = {
    "sigma": (0.7, 0.9, 1, 1.1, 1.5),
    "max_delta": (1, 2, 2, 3, 4),
    "passes": (2, 1, 3, 2, 2),
}


@corruption("glass_blur", group="blur", levels=GLASS_BLUR)
def glass_blur(image: Pixels, severity: int, rng: RandomState) -> Pixels:
    """Blur, let pixels copy near neighbours, blur again.

    The original means to swap two pixels but assigns views of one array: the neighbour stays as
    it is. A true swap would be another, milder corruption.

    Draws: for each pass and visited pixel two integers in [-reach, reach), first dx, then dy.
    """
    levels = at(GLASS_BLUR, severity)
    reach = int(levels["max_delta"])
    height, width = image.shape[:2]
    source = np.arange(height * width)
    for _ in range(int(levels["passes"])):
        source = source.take(_copied_from(height, width, reach, rng))
    blurred = gaussian(image, levels["sigma"])
    moved = np.take(blurred.reshape(height * width, -1), source, axis=0).reshape(image.shape)
    return gaussian(moved, levels["sigma"])


def _copied_from(height: int, width: int, reach: int, rng: RandomState) -> NDArray[np.intp]:
    """Flat index of the pixel that each pixel shows after one pass.

    Pixels are visited from the last row and column to the first. A visit copies the current value
    of a neighbour: its new value where the neighbour was visited before, else its old one. So
    each chain of neighbours is followed to its first pixel that had not been visited. About half
    of the chains end at every step.
    """
    pixel = np.arange(height * width)
    rows, columns = slice(height - reach, reach, -1), slice(width - reach, reach, -1)
    neighbour = pixel.copy()
    visited = neighbour.reshape(height, width)[rows, columns]
    shift = rng.randint(-reach, reach, (*visited.shape, 2))
    visited += shift[..., 1] * width + shift[..., 0]

    ends = np.ones(height * width, dtype=bool)
    ends.reshape(height, width)[rows, columns] = False
    ends |= neighbour <= pixel

    source = neighbour.copy()
    open_chains = np.flatnonzero(~ends)
    reached = neighbour.take(open_chains)
    while open_chains.size:
        further = neighbour.take(reached)
        source[open_chains] = further
        goes_on = np.flatnonzero(~ends.take(reached))
        open_chains, reached = open_chains.take(goes_on), further.take(goes_on)
    return source
