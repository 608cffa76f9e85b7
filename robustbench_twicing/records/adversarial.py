"""Adversarial images kept for a look: lossless, beside the records."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..files.arrays import open_archive
from ..files.atomic import write_atomically
from ..files.printable import folder_name

Pixels = NDArray[np.float32]
FOLDER = "adversarial"
"""Under the run folder."""


class AdversarialImage(NamedTuple):
    """One adversarial image that was saved.

    Attributes:
        x: clean pixels (3, H, W), float32.
        x_adv: adversarial pixels, shaped like x; outside [0, 1] where nothing was clipped.
        image: its id.
    """

    x: Pixels
    x_adv: Pixels
    image: str


@dataclass(frozen=True)
class AdversarialStore:
    """Keeps the adversarial images of the first images of a data set.

    ``adversarial/<label>/<dataset>/<protocol>/<condition>/<index>.npz`` under the run folder, with
    the float32 arrays ``x`` and ``x_adv`` (3, H, W) in pixels and the image's id: what was scored,
    bit for bit, which an 8-bit image file could not hold.

    Attributes:
        folder: ``adversarial`` in the run folder.
        limit: how many images of the data set, counted from its start; for `save`.
    """

    folder: Path
    limit: int = 0

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

        Raises:
            UserError: a file cannot be written, or the run folder is gone.
        """
        folder = self._folder(place)
        if self.limit and not self.folder.parent.is_dir():
            raise UserError(
                f"{self.folder.parent} is gone: it was moved or removed during the work"
            )
        for row, (index, image) in enumerate(zip(indices, images, strict=True)):
            if index < self.limit:
                arrays = {"x": x[row], "x_adv": x_adv[row], "image": np.array(image)}
                write_atomically(folder / f"{index:06d}.npz", partial(_write, arrays))

    def files(self, place: Sequence[str]) -> dict[int, Path]:
        """Files by position of the image in the data set, in order; empty where none were kept."""
        files = self._folder(place).glob("*.npz")
        return {int(file.stem): file for file in sorted(files) if file.stem.isdecimal()}

    def _folder(self, place: Sequence[str]) -> Path:
        return self.folder.joinpath(*(folder_name(part) for part in place))


def read_adversarial(path: Path) -> AdversarialImage:
    """Read one image back.

    Raises:
        UserError: a damaged file.
    """
    try:
        with open_archive(path) as arrays:
            image = AdversarialImage(
                arrays.read("x"), arrays.read("x_adv"), str(arrays.read("image"))
            )
    except UserError as error:
        raise UserError(f"{path} is damaged ({error}); delete it to go on without it") from error
    if image.x.ndim != 3 or len(image.x) != 3 or image.x.shape != image.x_adv.shape:
        raise UserError(f"{path} is damaged (no two images of one size); delete it")
    if not image.x.dtype == image.x_adv.dtype == np.float32:
        kinds = f"{image.x.dtype} and {image.x_adv.dtype}"
        raise UserError(f"{path} is damaged (pixels are {kinds}, not float32); delete it")
    return image


def _write(arrays: dict[str, NDArray[Any]], path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
