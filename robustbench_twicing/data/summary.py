"""What a data set holds, in numbers: classes, sizes, files left out."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from ..errors import UserError
from .arrays import ArrayImages
from .dataset import Dataset
from .decoding import BadImageError, read_header, read_rgb
from .folders.image_files import FileImages
from .stored import Stored, read

SURVEYED = 2000
"""Headers that a run reads before it starts; the images are chosen by a seed of their own."""
SEED = 0
_TAIL = 4096
"""Bytes by which files of one size are told apart before they are read."""


@dataclass
class Survey:
    """Counts over the images of a data set.

    Attributes:
        decoded: whether the images were decoded, or only their headers read.
        images: how many were looked at; sizes, kinds, rotated, turned and bad are of these.
        sizes: (width, height) in pixels.
        kinds: format and mode as Pillow calls them, like ``JPEG RGB``.
        rotated: ids of images with an EXIF orientation, which is not applied.
        turned: ids of those whose orientation decoding applies.
        bad: what cannot be decoded, as far as this survey looked.
        copies: ids of files that are equal byte for byte, group by group, among all files.
    """

    decoded: bool
    images: int = 0
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    rotated: list[str] = field(default_factory=list)
    turned: list[str] = field(default_factory=list)
    bad: list[BadImageError] = field(default_factory=list)
    copies: list[list[str]] = field(default_factory=list)


def survey(
    dataset: Dataset,
    *,
    full: bool = False,
    most: int | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Survey:
    """Look at the images.

    Args:
        dataset: files or arrays.
        full: decode every file, which alone finds truncated ones; otherwise read headers.
        most: look at so many files, chosen by a seed; at all without it.
        advance: called after every file.

    Raises:
        UserError: the system cannot read a file.
    """
    result = Survey(decoded=full, images=len(dataset))
    images = dataset.images
    if isinstance(images, FileImages):
        chosen = _sample(images.files, most)
        result.images = len(chosen)
        for file in chosen:
            try:
                _look(file, result, images.most_pixels)
            except BadImageError as error:
                result.bad.append(error)
            advance()
        result.copies = _copies(images.files)
    elif isinstance(images, ArrayImages):
        height, width, channels = images.form
        result.sizes[(width, height)] = len(dataset)
        result.kinds["array grey" if channels == 1 else "array RGB"] = len(dataset)
    return result


def _sample(files: tuple[Stored, ...], most: int | None) -> tuple[Stored, ...]:
    if most is None or most >= len(files):
        return files
    places = np.random.default_rng(SEED).choice(len(files), most, replace=False)
    return tuple(files[place] for place in sorted(places.tolist()))


def _look(file: Stored, result: Survey, most_pixels: int) -> None:
    header = read_header(file, most_pixels)
    if result.decoded:
        read_rgb(file, most_pixels)
    result.sizes[(header.width, header.height)] += 1
    result.kinds[f"{header.format} {header.mode}"] += 1
    if header.orientation != 1:
        (result.turned if header.turned else result.rotated).append(file.id)


def _copies(files: Iterable[Stored]) -> list[list[str]]:
    """Only files of one size are opened, and only those that end alike are read."""
    groups = _alike(files, lambda file: file.size)
    groups = [part for group in groups for part in _alike(group, _tail)]
    groups = [part for group in groups for part in _alike(group, _content)]
    return [[file.id for file in group] for group in groups]


def _alike(files: Iterable[Stored], key: Callable[[Stored], object]) -> list[list[Stored]]:
    """Groups of more than one with an equal key; empty files, which are bad anyway, left out."""
    groups: dict[object, list[Stored]] = defaultdict(list)
    for file in files:
        if file.size:
            groups[key(file)].append(file)
    return [group for group in groups.values() if len(group) > 1]


def _tail(file: Stored) -> bytes:
    try:
        with file.open() as stream:
            stream.seek(max(0, file.size - _TAIL))
            return stream.read(_TAIL)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from error


def _content(file: Stored) -> bytes:
    return hashlib.sha256(read(file)).digest()


def smaller_than(dataset: Dataset, side: int) -> list[str]:
    """Names of the images whose shorter side is below ``side`` pixels, by their headers.

    Raises:
        UserError: the system cannot read a file.
    """
    images = dataset.images
    if isinstance(images, ArrayImages):
        return list(dataset.ids) if min(images.form[:2]) < side else []
    small: list[str] = []
    if not isinstance(images, FileImages):
        return small
    for file in images.files:
        try:
            header = read_header(file, images.most_pixels)
        except BadImageError:
            continue  # refused with its reason when its turn comes
        if min(header.width, header.height) < side:
            small.append(file.id)
    return small


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
