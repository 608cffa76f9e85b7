"""How near to each image an attack found an adversarial one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import OK, Grid
from .strongest import UNITS, Ensemble

Floats = NDArray[np.float64]


class Nearest(NamedTuple):
    """Distances of images (n,), in the unit of the norm (`UNITS`); infinite where none is known.

    Attributes:
        indices: of the images, in the data set.
        was_wrong: whether the network is wrong on clean pixels.
        swept: the smallest over all wrong rows of attacks at a budget, and no more than the budget.
        radii: by code, those of the attacks that find distances.
    """

    indices: NDArray[np.int32]
    was_wrong: NDArray[np.bool_]
    swept: Floats
    radii: Mapping[int, Floats]

    @classmethod
    def joined(cls, blocks: Sequence["Nearest"]) -> "Nearest":
        """Of the images of all blocks, of which there is one at least, in order of image."""
        order = np.argsort(np.concatenate([block.indices for block in blocks]), kind="stable")
        index, was_wrong, swept = (
            np.concatenate([block[column] for block in blocks])[order] for column in range(3)
        )
        radii = {
            code: np.concatenate([block.radii[code] for block in blocks])[order]
            for code in blocks[0].radii
        }
        return cls(index, was_wrong, swept, radii)


def nearest(ensemble: Ensemble, grid: Grid) -> Nearest:
    """Distances of the images that were scored.

    Args:
        ensemble: of attacks of one norm.
        grid: their records.
    """
    norm, rows = next(iter(ensemble.members.values())).threat.norm, [*ensemble.members]
    scale, columns = UNITS[norm][0], grid.columns
    of_all = [*ensemble.clean, *rows]
    scored = columns["status"][of_all] == OK
    swept = [row for row in rows if ensemble.members[row].is_sweep]
    wrong = (columns["rank"][swept] > 0) & (columns["status"][swept] == OK)
    distances = np.broadcast_to(ensemble.caps, wrong.shape)
    if norm in columns:  # what a patch changed is no distance; its side is
        distances = np.fmin(columns[norm][swept] * scale, distances)
    radii = {
        row: np.where(columns["status"][row] == OK, columns["radius"][row] * scale, np.nan)
        for row, condition in ensemble.members.items()
        if condition.about.finds_radius
    }
    was_wrong = (columns["clean_rank"][of_all] > 0) & scored
    is_there = scored.any(axis=0)
    return Nearest(
        grid.indices[is_there],
        was_wrong.any(axis=0)[is_there],
        np.where(wrong, distances, np.inf).min(axis=0, initial=np.inf)[is_there],
        {row: np.where(np.isnan(of), np.inf, of)[is_there] for row, of in radii.items()},
    )
