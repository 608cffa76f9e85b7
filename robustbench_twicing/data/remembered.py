"""Images of which the latest are kept decoded, for work that asks for each of them many times."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from PIL import Image

from .dataset import Dataset, Images, Pixels
from .preprocessing import Preprocessing


@dataclass(frozen=True)
class RememberedImages:
    """Hands out the pixels of other images, and keeps those that were asked for last.

    Attributes:
        images: where the pixels come from.
        limit: how many are kept.
    """

    images: Images
    limit: int
    _kept: OrderedDict[tuple[int, Preprocessing], Pixels] = field(default_factory=OrderedDict)

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """Image ``index`` as uint8 (crop, crop, 3), read-only."""
        key = index, preprocessing
        if key not in self._kept:
            pixels = self.images.pixels(index, preprocessing).view()
            pixels.flags.writeable = False
            self._kept[key] = pixels
            if len(self._kept) > self.limit:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def picture(self, index: int) -> Image.Image:
        """As the images'; not kept."""
        return self.images.picture(index)

    def signature(self, index: int) -> str:
        """As the images'."""
        return self.images.signature(index)

    def select(self, indices: Sequence[int]) -> Self:
        """The images at these positions, none of them kept yet."""
        return type(self)(self.images.select(indices), self.limit)


def remember(data: Dataset, limit: int) -> Dataset:
    """The same data set, of which the last ``limit`` images stay decoded."""
    return replace(data, images=RememberedImages(data.images, limit))
