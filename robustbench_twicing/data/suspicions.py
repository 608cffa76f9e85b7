"""Signs that a data set is not what its user thinks; each is a sentence, none stops a run."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath

from ..files.printable import count, name_some
from .dataset import Dataset
from .fashion_mnist import is_fashion_mnist
from .folders.image_files import FileImages
from .folders.scanning import ImageFile
from .imagenet_c import GROUPS
from .summary import Survey

TINY = 64
"""Longest side, in pixels, of Tiny ImageNet and its like."""
FEWEST_COUNTED = 3
_TRAIN_NAME = re.compile(r"n\d{8}_\d+\.\w+")
_SEVERITY = re.compile("[1-5]")
_TAIL = 4096


def suspicions(dataset: Dataset, survey: Survey, root: Path | None = None) -> tuple[str, ...]:
    """Everything that looks wrong.

    Args:
        dataset: the images and labels.
        survey: what they are like.
        root: the folder they come from, whose own path may tell something.
    """
    folder = root if root is not None else Path()
    files = dataset.images.files if isinstance(dataset.images, FileImages) else ()
    sentences = [
        *_counted_from_one(dataset),
        *_sizes(dataset, survey),
        *_corruption(files, folder),
        *_training(files, folder),
        *_twins(files),
        *_copies(files),
    ]
    if survey.rotated:
        sentences.append(
            f"{count(len(survey.rotated), 'image')} with an EXIF orientation, which is not applied "
            f"(as in torchvision): {name_some(survey.rotated)}"
        )
    return tuple(sentences)


def _counted_from_one(dataset: Dataset) -> Iterator[str]:
    seen = set(dataset.labels)
    counted = seen == set(range(1, len(seen) + 1)) and len(seen) >= FEWEST_COUNTED
    if counted and "wnid" not in dataset.labelling:
        yield (
            f"labels are 1 to {len(seen)} without a gap and never 0: were they counted from 1? "
            "Class indices start at 0"
        )


def _sizes(dataset: Dataset, survey: Survey) -> Iterator[str]:
    if not survey.sizes or is_fashion_mnist(dataset.name):
        return
    longest = max(max(size) for size in survey.sizes)
    if longest <= TINY:
        yield (
            f"no image is larger than {longest} pixels: is this Tiny ImageNet or a downsampled "
            "copy? Enlarged to a network's input, accuracies are not comparable"
        )
    elif len(survey.sizes) == 1 and survey.sizes.total() > 1:
        width, height = next(iter(survey.sizes))
        if width == height and width < 256:
            yield (
                f"every image is {width} x {height}, as if resized and cropped before; resizing "
                "and cropping again cuts off a border"
            )


def _corruption(files: tuple[ImageFile, ...], root: Path) -> Iterator[str]:
    parts = {part for image in files for part in image.id.split("/")[:-1]}
    above = {name for name, below in pairwise(root.parts) if _SEVERITY.fullmatch(below)}
    names = sorted(set(GROUPS["all"]) & (parts | above | {root.name}))
    if names:
        yield (
            f"folders are named like ImageNet-C ({name_some(names)}): as plain data it would be "
            "reported as clean accuracy; use the suite corruptions"
        )


def _training(files: tuple[ImageFile, ...], root: Path) -> Iterator[str]:
    folders = {part for image in files for part in image.id.split("/")[:-1]} | {root.name}
    named = sum(bool(_TRAIN_NAME.fullmatch(PurePosixPath(image.id).name)) for image in files)
    if "train" in folders or (files and named > len(files) / 2):
        sign = "a folder is called train" if "train" in folders else "files are named like n..._N"
        yield f"{sign}: are these training images? Accuracy on them says nothing"


def _twins(files: tuple[ImageFile, ...]) -> Iterator[str]:
    stems = Counter(str(PurePosixPath(image.id).with_suffix("")) for image in files)
    twins = sorted(stem for stem, number in stems.items() if number > 1)
    if twins:
        yield (
            f"{count(len(twins), 'name')} with more than one ending, counted as many times: "
            f"{name_some(twins)}"
        )


def _copies(files: tuple[ImageFile, ...]) -> Iterator[str]:
    groups = _alike(list(files), lambda image: image.size)
    groups = [part for group in groups for part in _alike(group, _tail)]
    groups = [part for group in groups for part in _alike(group, _content)]
    if groups:
        pairs = [" = ".join(image.id for image in group[:2]) for group in groups]
        extra = sum(len(group) - 1 for group in groups)
        yield (
            f"{count(extra, 'file is a copy', 'files are copies')} of another, byte for byte: "
            f"{name_some(pairs)}"
        )


def _alike(files: list[ImageFile], key: Callable[[ImageFile], object]) -> list[list[ImageFile]]:
    """Groups of more than one with an equal key; empty files, which are bad anyway, left out."""
    groups: dict[object, list[ImageFile]] = defaultdict(list)
    for image in files:
        if image.size:
            groups[key(image)].append(image)
    return [group for group in groups.values() if len(group) > 1]


def _tail(image: ImageFile) -> bytes:
    with image.path.open("rb") as file:
        file.seek(max(0, image.size - _TAIL))
        return file.read()


def _content(image: ImageFile) -> bytes:
    with image.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
