"""Images that lie in files, decoded one at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ..preprocessing import Preprocessing
from .dataset import Pixels
from .decoding import read_rgb
from .scanning import Found


@dataclass(frozen=True)
class FileImages:
    """Images in files; nothing is kept between two calls."""

    found: tuple[Found, ...]

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """Decode file ``index``, resize and crop: uint8 (crop, crop, 3)."""
        return preprocessing.pixels(read_rgb(self.found[index].path))

    def signature(self, index: int) -> str:
        """The file's size in bytes."""
        return str(self.found[index].size)

    def select(self, indices: Sequence[int]) -> Self:
        """The files at these positions, in this order."""
        return type(self)(tuple(self.found[index] for index in indices))
