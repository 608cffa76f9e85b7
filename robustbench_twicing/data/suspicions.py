"""Signs that a data set is not what its user thinks: `data` prints them, `eval` records them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath

import numpy as np

from ..files.printable import count, name_some
from .arrays import ArrayImages
from .dataset import Dataset, Remark
from .fashion_mnist import is_fashion_mnist
from .folders.image_files import FileImages
from .folders.scanning import DANGLING
from .imagenet import WNID
from .imagenet_c import GROUPS, SEVERITIES
from .known_sets.table import plain_name
from .known_sets.validation import counted_from_one, first_classes, other_numbering
from .preprocessing import Preprocessing
from .summary import Survey

TINY = 64
"""Longest side, in pixels, of Tiny ImageNet and its like."""
PHOTOGRAPH = 256
"""Pixels a side; square images below it were cropped before."""
_TRAIN_FILE = re.compile(r"n\d{8}_\d+\.\w+")
_TRAIN_FOLDER = re.compile(r"(ilsvrc2012-)?(img-)?train(ing)?(-?(set|data|images|blurred|\d+))?")
_CORRUPTED_FOLDER = re.compile(r"(tiny-)?(imagenet|cifar-?100?)-?(c|c-bar|3dcc)")
_SEVERITY = re.compile("[1-5]")
_PAIRS, _ALIKE = 16, 0.5
"""Images of an array that are compared with those of its next fifth, and how alike they are."""


def suspicions(
    dataset: Dataset,
    survey: Survey,
    preprocessing: Preprocessing | None = None,
    num_classes: int | None = None,
) -> tuple[Remark, ...]:
    """Everything that looks wrong; none of it stops a run.

    Args:
        dataset: the images and labels.
        survey: what they are like.
        preprocessing: of the network that will see them, without which tiny and cropped images
            are named whatever their size.
        num_classes: of that network, where the data set does not say it.
    """
    return (
        *_corruption(dataset),
        *severities_in_one_array(dataset),
        *_training(dataset),
        *counted_from_one(dataset),
        *first_classes(dataset, dataset.num_classes or num_classes),
        *other_numbering(dataset),
        *_sizes(dataset, survey, preprocessing),
        *_copies(survey),
        *_twins(dataset),
        *_rotated(survey),
        *_left_out(dataset),
    )


def _folders(dataset: Dataset) -> set[str]:
    """Folders between the root and the images, without those that are classes of one's own."""
    last = -2 if dataset.labelling.startswith("folders named in") else -1
    return {part for name in dataset.ids for part in name.split("/")[:last]}


def _corruption(dataset: Dataset) -> Iterator[Remark]:
    path = dataset.path or Path()
    above = {name for name, below in pairwise(path.parts) if _SEVERITY.fullmatch(below)}
    corrupted = set(GROUPS["all"]) & (_folders(dataset) | above | {path.name, path.stem})
    corrupted |= {part for part in path.parts if _CORRUPTED_FOLDER.fullmatch(plain_name(part))}
    if corrupted:
        yield Remark(
            "corrupted-as-clean",
            f"folders or files are named like ImageNet-C ({name_some(sorted(corrupted))}): as "
            "plain data these images would be reported as clean ones; use --imagenet-c",
        )


def severities_in_one_array(dataset: Dataset) -> Iterator[Remark]:
    """Whether an array holds the same images five times, as those of CIFAR-C do."""
    fifth, rest = divmod(len(dataset), len(SEVERITIES))
    if not isinstance(dataset.images, ArrayImages) or rest or fifth < _PAIRS:
        return
    if not _repeats(dataset.labels, fifth):
        return
    if any(
        fifth % shorter == 0 and _repeats(dataset.labels, shorter) for shorter in range(1, fifth)
    ):
        return  # class by class in turn, which tells nothing
    places = np.linspace(0, fifth - 1, _PAIRS).astype(int).tolist()
    pictures = [
        np.stack([np.asarray(dataset.images.picture(place + shift), float) for place in places])
        for shift in (0, fifth)
    ]
    first, second = (array - array.mean(axis=0) for array in pictures)
    size = np.sqrt((first**2).sum() * (second**2).sum())
    if size and (first * second).sum() / size > _ALIKE:
        yield Remark(
            "five-severities",
            f"the array holds the same {fifth} images five times over, as CIFAR-C's arrays hold "
            "their severities: they are corrupted, and their mean is no clean accuracy",
        )


def _repeats(labels: tuple[int, ...], period: int) -> bool:
    return labels[period:] == labels[:-period]


def _training(dataset: Dataset) -> Iterator[Remark]:
    path = dataset.path or Path()
    folders = _folders(dataset) | {path.name}
    if WNID.fullmatch(path.name):
        folders.add(path.parent.name)
    named = sum(bool(_TRAIN_FILE.fullmatch(PurePosixPath(name).name)) for name in dataset.ids)
    called = sorted(name for name in folders if _TRAIN_FOLDER.fullmatch(plain_name(name)))
    if called or named > len(dataset) / 2:
        sign = f"a folder is called {called[0]}" if called else "files are named like n..._N"
        yield Remark(
            "training-images",
            f"{sign}: are these training images? Accuracy on them says nothing",
        )


def _sizes(
    dataset: Dataset, survey: Survey, preprocessing: Preprocessing | None
) -> Iterator[Remark]:
    if not survey.sizes or is_fashion_mnist(dataset.name):
        return
    longest = max(max(size) for size in survey.sizes)
    width, height = next(iter(survey.sizes))
    square = len(survey.sizes) == 1 and survey.sizes.total() > 1 and width == height
    if longest <= TINY:
        if preprocessing is None or longest < preprocessing.crop:
            yield Remark(
                f"tiny-images-{longest}px",
                f"no image is larger than {longest} pixels: is this Tiny ImageNet or a downsampled "
                "copy? Enlarged to a network's input, accuracies are not comparable",
            )
    elif square and width < PHOTOGRAPH and _cuts(dataset, width, preprocessing):
        yield Remark(
            f"cropped-before-{width}px",
            f"every image is {width} x {height}, as if resized and cropped before; resizing "
            "and cropping again cuts off a border",
        )


def _cuts(dataset: Dataset, side: int, preprocessing: Preprocessing | None) -> bool:
    """Whether preprocessing takes a border off square images; as far as known."""
    if preprocessing is None:
        return True
    if isinstance(dataset.images, ArrayImages) and side == preprocessing.crop:
        return False  # taken as they are
    return (preprocessing.resize or side) > preprocessing.crop


def _copies(survey: Survey) -> Iterator[Remark]:
    if survey.copies:
        pairs = [" = ".join(group[:2]) for group in survey.copies]
        extra = sum(len(group) - 1 for group in survey.copies)
        yield Remark(
            f"copies-{extra}",
            f"{count(extra, 'file is a copy', 'files are copies')} of another, byte for byte: "
            f"{name_some(pairs)}",
        )


def _twins(dataset: Dataset) -> Iterator[Remark]:
    if not isinstance(dataset.images, FileImages):
        return
    stems = Counter(str(PurePosixPath(name).with_suffix("")) for name in dataset.ids)
    twins = sorted(stem for stem, number in stems.items() if number > 1)
    if twins:
        yield Remark(
            f"names-twice-{len(twins)}",
            f"{count(len(twins), 'name')} with more than one ending, counted as many times: "
            f"{name_some(twins)}",
        )


def _rotated(survey: Survey) -> Iterator[Remark]:
    number = len(survey.rotated) + len(survey.turned)
    sentences = [
        f"{count(len(names), 'image')} with an EXIF orientation, {what}: {name_some(names)}"
        for names, what in (
            (survey.rotated, "which is not applied"),
            (survey.turned, "which Pillow applies, to TIFF alone"),
        )
        if names
    ]
    if sentences:
        yield Remark(
            f"exif-orientation-{number}-of-{survey.images}",
            f"{'; '.join(sentences)} (of {survey.images} looked at; as in torchvision and timm)",
        )


def _left_out(dataset: Dataset) -> Iterator[Remark]:
    dangling = [item.id for item in dataset.skipped if item.reason == DANGLING]
    if dangling:
        yield Remark(
            f"dangling-links-{len(dangling)}",
            f"{count(len(dangling), 'link leads', 'links lead')} to nothing, be it an image or a "
            f"whole class: {name_some(dangling)}",
        )
    if dataset.skipped:
        names = defaultdict[str, list[str]](list)
        for item in dataset.skipped:
            names[item.reason].append(item.id)
        commonest = sorted(names, key=lambda reason: -len(names[reason]))
        reasons = [f"{why} ({len(names[why])}: {name_some(names[why])})" for why in commonest]
        left_out = count(len(dataset.skipped), "file was", "files were")
        yield Remark(
            f"files-left-out-{len(dataset.skipped)}", f"{left_out} left out: {'; '.join(reasons)}"
        )
    if dataset.hidden:
        yield Remark(
            f"hidden-{len(dataset.hidden)}",
            f"{count(len(dataset.hidden), 'hidden entry was', 'hidden entries were')} left out: "
            f"{name_some(dataset.hidden)}",
        )
