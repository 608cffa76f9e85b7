"""What a data set holds, in numbers: classes, sizes, files left out."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .arrays import ArrayImages
from .dataset import Dataset
from .decoding import BadImageError, read_header, read_rgb
from .folders.image_files import FileImages
from .folders.scanning import ImageFile


@dataclass
class Survey:
    """Counts over the images of a data set.

    Attributes:
        decoded: whether every image was decoded, or only its header read.
        sizes: (width, height) in pixels.
        kinds: format and mode as Pillow calls them, like ``JPEG RGB``.
        rotated: ids of images with an EXIF orientation, which is not applied.
        bad: what cannot be decoded, as far as this survey looked.
    """

    decoded: bool
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    rotated: list[str] = field(default_factory=list)
    bad: list[BadImageError] = field(default_factory=list)


def survey(
    dataset: Dataset, *, full: bool = False, advance: Callable[[], None] = lambda: None
) -> Survey:
    """Look at every image.

    Args:
        dataset: files or arrays.
        full: decode every file, which alone finds truncated ones; otherwise read headers.
        advance: called after every file.

    Raises:
        UserError: the system cannot read a file.
    """
    result = Survey(decoded=full)
    images = dataset.images
    if isinstance(images, FileImages):
        for file in images.files:
            try:
                _look(file, result, full)
            except BadImageError as error:
                result.bad.append(error)
            advance()
    elif isinstance(images, ArrayImages):
        height, width, channels = images.form
        result.sizes[(width, height)] = len(dataset)
        result.kinds["array grey" if channels == 1 else "array RGB"] = len(dataset)
    return result


def _look(file: ImageFile, result: Survey, full: bool) -> None:
    header = read_header(file.path)
    if full:
        read_rgb(file.path)
    result.sizes[(header.width, header.height)] += 1
    result.kinds[f"{header.format} {header.mode}"] += 1
    if header.orientation != 1:
        result.rotated.append(file.id)


SAMPLE = 25
"""Images that are decoded for it."""


def typical_side(data: Dataset) -> int | None:
    """Median length of the shorter side, in pixels; None where no image can be decoded.

    Over `SAMPLE` images spread evenly over the data set, so that it costs as little for a large
    one, and a few odd sizes do not matter.
    """
    places = np.linspace(0, len(data) - 1, min(SAMPLE, len(data))).round().astype(int)
    sides = []
    for index in places.tolist():
        try:
            sides.append(min(data.images.picture(index).size))
        except BadImageError:
            continue  # listed with its reason when its turn comes
    return sorted(sides)[len(sides) // 2] if sides else None
