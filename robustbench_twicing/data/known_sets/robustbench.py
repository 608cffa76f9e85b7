"""The 5,000 images of ImageNet's validation set that all of RobustBench's numbers are about."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath

from ..dataset import Dataset
from ..imagenet import NUM_CLASSES, wnids

IMAGES = 5_000
NAMES_SHA256 = "3d2e60d4fb112fb6a964606e260a8e84f1faa0804958974cb2bb96a7c5e3f4ba"
"""`names_sha256` of ``imagenet_test_image_ids.txt`` in RobustBench 1.1."""
NOTE = f"these are RobustBench's {IMAGES:,} ImageNet images"


def names_sha256(images: Iterable[tuple[str, int]]) -> str:
    """SHA-256 of the sorted lines ``wnid/name``, each with its end, as ``LC_ALL=C sort`` has them.

    The wnid is that of the label and the name is the file's own, so that folders by class, by
    number and a flat folder with a label file come out alike, and wrong labels do not.

    Args:
        images: ids and class indices, 0 to 999.
    """
    classes = wnids()
    lines = (f"{classes[label]}/{PurePosixPath(name).name}\n" for name, label in images)
    return sha256(b"".join(sorted(line.encode() for line in lines))).hexdigest()


def are_robustbench_images(images: Sequence[tuple[str, int]]) -> bool:
    """Whether these are the 5,000 images under their own names and labels, in any order.

    Args:
        images: ids and labels.
    """
    return (
        len(images) == IMAGES
        and all(0 <= label < NUM_CLASSES for _, label in images)
        and names_sha256(images) == NAMES_SHA256
    )


def with_robustbench_note(dataset: Dataset) -> Dataset:
    """The data set, with a note where it is RobustBench's."""
    if dataset.num_classes != NUM_CLASSES or dataset.space or dataset.several:
        return dataset
    images = list(zip(dataset.ids, dataset.labels, strict=True))
    if not are_robustbench_images(images):
        return dataset
    return replace(dataset, notes=(*dataset.notes, NOTE))
