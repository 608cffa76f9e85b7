"""Whether a folder holds the test set that it is said to hold: refusals, and remarks."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath

from ...errors import UserError
from ...files.printable import count, name_some
from ..dataset import Dataset, Remark
from ..folders.class_folders import Labelled
from ..folders.scanning import Listing
from ..imagenet import NUM_CLASSES, SUBSETS, subset_indices, wnids
from .table import IMAGENET, KNOWN_SETS, KnownSet

_VALIDATION_NAME = re.compile(r"ILSVRC2012_val_\d+\.\w+")
"""Files of the validation set, and of sets made from it."""


def check_fits(known: KnownSet, root: Path, labelled: Labelled) -> None:
    """Refuse images that are surely those of another set.

    Args:
        known: what the folder is said to be.
        root: the folder.
        labelled: its images, with class indices 0 to 999.

    Raises:
        UserError: saying what it looks like, and under which name that is given.
    """
    seen = set(labelled.labels)
    expected = set(_classes(known))
    twin = _twin(seen)
    outside = sorted(seen - expected)
    if outside or twin not in (None, known):
        raise UserError(f"{root} is not {known.title}: {_what_it_is(known, seen, outside)}")
    if known.shifted and _is_validation_set(labelled):
        raise UserError(
            f"{root} is not {known.title}: its files are named like ImageNet's validation set "
            f"({labelled.images[0].id}); give {IMAGENET}=DIR"
        )


def _classes(known: KnownSet) -> Sequence[int]:
    return subset_indices(known.subset) if known.subset else range(NUM_CLASSES)


def _what_it_is(known: KnownSet, seen: Collection[int], outside: Collection[int]) -> str:
    """What the classes look like, and how that is asked for."""
    classes = count(len(seen), "class", "classes")
    for subset in SUBSETS:
        twin = KNOWN_SETS[subset]
        if twin != known and set(seen) <= set(subset_indices(subset)):
            exactly = "exactly" if len(seen) == twin.classes else "among"
            return f"its {classes} are {exactly} those of {twin.title}; give {twin.name}=DIR"
    names = name_some(wnids()[index] for index in outside)
    return (
        f"of its {classes} {len(outside)} are not among {known.title}'s {known.classes} ({names}); "
        "name the set that it is, or give plain --data DIR, which is scored over all 1000"
    )


def _twin(seen: Collection[int]) -> KnownSet | None:
    """The set of fewer classes whose classes these are exactly."""
    for subset in SUBSETS:
        if set(seen) == set(subset_indices(subset)):
            return KNOWN_SETS[subset]
    return None


def _is_validation_set(labelled: Labelled) -> bool:
    return any(
        _VALIDATION_NAME.fullmatch(PurePosixPath(image.id).name) for image in labelled.images
    )


def with_remark(dataset: Dataset) -> Dataset:
    """Say and flag that a folder which nobody called ImageNet-A or -R may be it."""
    twin = _twin(dataset.labels) if dataset.num_classes == NUM_CLASSES else None
    if twin is None:
        return dataset
    note = (
        f"its {twin.classes} classes are exactly those of {twin.title}, and as plain --data it is "
        f"scored over all 1000 logits; if it is {twin.title}, --data {twin.name}=DIR gives the "
        "number that papers report"
    )
    return dataset.remarked([Remark(f"classes-of-{twin.name}", note)])


def differences(known: KnownSet, listing: Listing, labelled: Labelled) -> Iterator[str]:
    """Remarks on classes and images that the published set has and this folder lacks, or more."""
    expected = _classes(known)
    missing = sorted(set(expected) - set(labelled.labels))
    if missing:
        yield (
            f"{len(missing)} of its {len(expected)} classes have no image here: "
            f"{name_some(wnids()[index] for index in missing)}"
        )
    yield from image_count(known, len(labelled.images), listing)


def image_count(known: KnownSet, images: int, listing: Listing) -> Iterator[str]:
    """A remark where the number of images is not the published one."""
    if images != known.images:
        yield f"{images:,} images in {listing.root.name}, {known.images:,} in the published set"
