"""Images that are stored encoded, in files or archives, decoded one at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from PIL import Image

from ..dataset import Dataset, Pixels
from ..decoding import LARGEST_IMAGE, BadImageError, read_rgb
from ..preprocessing import Preprocessing
from ..stored import Stored
from .class_folders import Labelled
from .scanning import Listing


@dataclass(frozen=True)
class FileImages:
    """Encoded images, in files or archives; nothing is kept between two calls.

    Attributes:
        files: where they are.
        border: pixels cut off on each side before anything else.
        most_pixels: width times height that is decoded.
    """

    files: tuple[Stored, ...]
    border: int = 0
    most_pixels: int = LARGEST_IMAGE

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """Decode file ``index``, resize and crop: uint8 (crop, crop, 3)."""
        return preprocessing.pixels(self.picture(index))

    def picture(self, index: int) -> Image.Image:
        """Decode file ``index`` and take its border off."""
        image = read_rgb(self.files[index], self.most_pixels)
        if self.border:
            box = (self.border, self.border, image.width - self.border, image.height - self.border)
            if box[0] >= box[2] or box[1] >= box[3]:
                size = f"is {image.width} x {image.height} pixels, nothing but border"
                raise BadImageError(self.files[index], size)
            image = image.crop(box)
        return image

    def signature(self, index: int) -> str:
        """The file's size in bytes."""
        return str(self.files[index].size)

    def select(self, indices: Sequence[int]) -> Self:
        """The files at these positions, in this order."""
        return replace(self, files=tuple(self.files[index] for index in indices))


def files_dataset(listing: Listing, labelled: Labelled, **facts: Any) -> Dataset:
    """A data set of the labelled files of a folder.

    Args:
        listing: of the folder, whose name is the data set's.
        labelled: images and labels.
        facts: other attributes of the data set, or in place of these.
    """
    attributes: dict[str, Any] = {
        "name": listing.root.name,
        "ids": tuple(image.id for image in labelled.images),
        "labels": labelled.labels,
        "images": FileImages(labelled.images),
        "num_classes": labelled.num_classes,
        "labelling": labelled.labelling,
        "notes": labelled.notes,
        "skipped": listing.skipped,
        "path": listing.root,
        "hidden": listing.hidden,
        "several": labelled.several,
    }
    return Dataset(**{**attributes, **facts}).remarked(labelled.remarks)
