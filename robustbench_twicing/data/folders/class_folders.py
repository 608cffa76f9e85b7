"""Labels from the names of folders: wnids, numbers 0..999, or a list of one's own classes.

A folder's name decides, never its position among the others: a partial download would shift
positions, and sorted as text 10 comes before 2.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...errors import UserError
from ...files.printable import count, name_some
from ..dataset import Remark, RightLabels
from ..imagenet import NUM_CLASSES, WNID, wnid_to_index
from ..stored import Stored
from .class_list import OwnClasses
from .scanning import Listing

BY_NUMBER = (
    "labels are numbers, without names of classes: number k counts as the network's class k, which "
    "is ImageNet-1k's if it has 1000"
)
"""A note wherever nothing but a number says which class is meant."""
UNLABELLED = "no labels"
"""How images are labelled that are looked at and not scored."""
SUBSET = 200
"""Classes of ImageNet-A, -R and Tiny ImageNet."""
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Labelled:
    """Images with labels, how they were labelled, and notes and remarks on it for the reader.

    ``several`` are all right labels, where images may have more than one.
    """

    images: tuple[Stored, ...]
    labels: tuple[int, ...]
    num_classes: int | None
    labelling: str
    notes: tuple[str, ...] = ()
    several: RightLabels | None = None
    remarks: tuple[Remark, ...] = ()


def label_by_folder(listing: Listing, classes: OwnClasses | None = None) -> Labelled:
    """Give every image the class of the nearest folder above it that names one.

    Raises:
        UserError: no class folders, images outside of them, unknown names, or one class in two
            places.
    """
    if classes is not None:
        return _by_own_classes(listing, classes)
    if has_wnid_folders(listing):
        return label_by_wnid(listing)
    if has_numbered_folders(listing):
        labelled = label_by_number(listing)
        if set(labelled.labels) == set(range(SUBSET)):
            raise UserError(
                f"{listing.root}: 200 folders numbered 0 to 199 look like positions within a "
                "subset (ImageNet-A, -R, Tiny ImageNet), not ImageNet-1k classes; name them by "
                "wnid, or give --classes FILE.json mapping each folder to its class index"
            )
        return labelled
    raise UserError(why_unlabelled(listing))


def without_labels(listing: Listing, why: str) -> Labelled:
    """All images as one class, for what needs no label, with a note that says why.

    Args:
        listing: the images.
        why: what an evaluation would answer.
    """
    zeros = (0,) * len(listing.images)
    return Labelled(listing.images, zeros, None, UNLABELLED, (f"no labels: {why}",))


def says_classes(listing: Listing) -> bool:
    """Whether folders name classes: one of them by wnid, or all of them by indices 0 to 999.

    Numbers 0 to 199 and no others are positions in a subset.
    """
    if has_wnid_folders(listing):
        return True
    folders = {tuple(image.id.split("/")[:-1]) for image in listing.images}
    named = [next(filter(_NUMBER.fullmatch, parts[::-1]), "") for parts in folders]
    if not all(named):
        return False
    numbers = set(map(int, named))
    return max(numbers, default=NUM_CLASSES) < NUM_CLASSES and numbers != set(range(SUBSET))


def has_wnid_folders(listing: Listing) -> bool:
    """Whether a folder with images is named by a wnid, the root among them."""
    return any(WNID.fullmatch(name) for name in {*_folder_names(listing), listing.root.name})


def has_numbered_folders(listing: Listing) -> bool:
    """Whether a folder with images is named by a number."""
    return any(_NUMBER.fullmatch(name) for name in _folder_names(listing))


def is_class_name(name: str) -> bool:
    """Whether a folder of this name is a class of ImageNet: a wnid, or a number."""
    return bool(WNID.fullmatch(name) or _NUMBER.fullmatch(name))


def _folder_names(listing: Listing) -> set[str]:
    return {part for image in listing.images for part in image.id.split("/")[:-1]}


def label_by_wnid(listing: Listing) -> Labelled:
    """Labels are class indices 0 to 999 of the folders' wnids.

    Raises:
        UserError: images outside of such folders, wnids that are not ImageNet-1k's, or one class
            in two places.
    """
    names, folders = _class_names(listing, WNID.fullmatch, root_counts=True)
    index = wnid_to_index()
    unknown = sorted(folders.keys() - index.keys())
    if unknown:
        raise UserError(
            f"{listing.root}: {count(len(unknown), 'folder')} named by wnids that are not among "
            f"ImageNet-1k's 1000 ({name_some(unknown)}); "
            "remove them, or give --classes FILE with your own class list"
        )
    labels = [index[name] for name in names]
    return _labelled(listing, labels, NUM_CLASSES, "folders named by wnid")


def label_by_number(listing: Listing) -> Labelled:
    """Labels are the folders' numbers, read as numbers: sorted as text, 10 would come before 2.

    Raises:
        UserError: images outside of such folders, numbers that are not 0 to 999, or one class in
            two places.
    """
    names, folders = _class_names(listing, _NUMBER.fullmatch)
    numbers = {int(name): name for name in folders}
    if len(numbers) < len(folders):
        twice = min(name for name in folders if numbers[int(name)] != name)
        raise UserError(
            f"{listing.root}: folders {twice} and {numbers[int(twice)]} have the same number; "
            "numbered folders are 0 to 999, each once"
        )
    check_range(set(numbers), str(listing.root), "folders")
    labels = [int(name) for name in names]
    return _labelled(listing, labels, NUM_CLASSES, "folders named by class index", BY_NUMBER)


def _by_own_classes(listing: Listing, classes: OwnClasses) -> Labelled:
    names, _ = _class_names(listing, classes.indices.__contains__, source=classes.source)
    labels = [classes.indices[name] for name in names]
    labelling, note = f"folders named in {classes.source}", f"classes are those of {classes.source}"
    return _labelled(listing, labels, classes.num_classes, labelling, note)


def _labelled(
    listing: Listing, labels: list[int], num_classes: int | None, labelling: str, *notes: str
) -> Labelled:
    if listing.empty:
        empty = f"{count(len(listing.empty), 'folder')} without images: {name_some(listing.empty)}"
        notes = (*notes, empty)
    return Labelled(listing.images, tuple(labels), num_classes, labelling, notes)


def _class_names(
    listing: Listing,
    is_class: Callable[[str], object],
    *,
    root_counts: bool = False,
    source: str = "",
) -> tuple[list[str], dict[str, str]]:
    """Class name of every image, and by name the folder of the class."""
    names: list[str] = []
    folders: dict[str, str] = {}
    outside: list[str] = []
    for image in listing.images:
        parts = image.id.split("/")[:-1]
        depth = next((d for d in range(len(parts), 0, -1) if is_class(parts[d - 1])), 0)
        if depth == 0 and not (root_counts and is_class(listing.root.name)):
            outside.append(image.id)
            continue
        name = parts[depth - 1] if depth else listing.root.name
        folder = "/".join(parts[:depth])
        if folders.setdefault(name, folder) != folder:
            raise UserError(
                f"{listing.root}: class {name} has two folders, {folders[name] or '.'} and "
                f"{folder}; give the folder whose images you mean"
            )
        names.append(name)
    if outside:
        raise UserError(_outside(listing, outside, source))
    return names, folders


def _outside(listing: Listing, outside: list[str], source: str) -> str:
    where = f"folders named in {source}" if source else "class folders"
    return (
        f"{listing.root}: {len(outside):,} of {count(len(listing.images), 'image')} lie outside of "
        f"{where} ({name_some(outside)}), so their class is unknown; "
        f"sort them into class folders, remove them{' or add the class' if source else ''}"
    )


def check_range(indices: set[int], source: str, noun: str) -> None:
    """Refuse class indices outside 0..999.

    Raises:
        UserError: with a hint where they seem to count from 1.
    """
    highest, lowest = max(indices), min(indices)
    if highest == NUM_CLASSES and lowest > 0:
        raise UserError(
            f"{source}: {noun} are numbered {lowest} to {highest}, as if counted from 1; "
            "class indices are 0 to 999 in the sorted order of wnids (ILSVRC's own ids 1 to 1000 "
            "have another order: use wnids)"
        )
    if highest >= NUM_CLASSES or lowest < 0:
        wrong = highest if highest >= NUM_CLASSES else lowest
        raise UserError(
            f"{source}: {noun} have the class index {wrong}; ImageNet-1k's are 0 to 999, "
            "other label spaces need --classes FILE"
        )


def why_unlabelled(listing: Listing) -> str:
    """That no folder names a class, and what to give in place of that."""
    folders = sorted({image.id.rpartition("/")[0] for image in listing.images})
    images = count(len(listing.images), "image")
    if len(folders) == 1:
        where = f" in {folders[0]}/" if folders[0] else ""
        kit = ", or ILSVRC2012_devkit_t12" if "ILSVRC2012_val_" in listing.images[0].id else ""
        return (
            f"{listing.root} is a flat folder: {images}{where} and no class folders, so the "
            f"classes are unknown; give --labels FILE (CSV with file,wnid{kit}), or sort the "
            "images into folders named by wnid (n01440764)"
        )
    named = name_some([folder or "." for folder in folders])
    return (
        f"{listing.root}: the folders with images ({named}) are named neither by wnid (n01440764) "
        "nor by class index; give --classes FILE, a text file with one folder name a line"
    )
