"""Adversarial images kept for a look: lossless, beside the records."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .atomic import write_atomically
from .store import folder_name

Pixels = NDArray[np.float32]


@dataclass(frozen=True)
class AdversarialStore:
    """Keeps the adversarial images of the first images of a data set.

    ``adversarial/<label>/<dataset>/<protocol>/<condition>/<index>.npz`` under the run folder, with
    the float32 arrays ``x`` and ``x_adv`` (3, H, W) in pixels and the image's id: what was scored,
    bit for bit, which an 8-bit image file could not hold.

    Attributes:
        folder: ``adversarial`` in the run folder.
        limit: how many images of the data set, counted from its start.
    """

    folder: Path
    limit: int

    def save(
        self,
        place: Sequence[str],
        indices: Sequence[int],
        images: Sequence[str],
        x: Pixels,
        x_adv: Pixels,
    ) -> None:
        """Write those images of a batch that are among the first.

        Args:
            place: label, data set, protocol and condition.
            indices: positions of the images in the data set.
            images: their ids.
            x: clean pixels (N, 3, H, W).
            x_adv: adversarial pixels, shaped like x.
        """
        folder = self.folder.joinpath(*(folder_name(part) for part in place))
        for row, (index, image) in enumerate(zip(indices, images, strict=True)):
            if index < self.limit:
                folder.mkdir(parents=True, exist_ok=True)
                arrays = {"x": x[row], "x_adv": x_adv[row], "image": np.array(image)}
                write_atomically(folder / f"{index:06d}.npz", partial(_write, arrays))


def _write(arrays: dict[str, NDArray[Any]], path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
