"""ObjectNet (Barbu et al., NeurIPS 2019): its classes in ImageNet's, and its red border cut off.

The archive is ``objectnet-1.0/`` with ``images/FOLDER/*.png`` and ``mappings/``. Of 313 folders 113
are classes of ImageNet-1k, some of them several (a helmet is a crash helmet or a football helmet);
the others are left out. An image is right where the largest of all 1000 logits is one of its
class's.
"""

from collections.abc import Iterator
from pathlib import Path

from ..errors import UserError
from .class_folders import Labelled
from .dataset import Dataset
from .files import FileImages, files_dataset
from .known_contents import image_count
from .known_sets import KnownSet
from .label_space import LabelSpace
from .objectnet_mapping import MAPPINGS, Mapping, read_mapping
from .scanning import Listing, check_has_images, count, name_some, scan

BORDER = 2
"""Pixels on each side; a red line that keeps the images from being trained on unnoticed."""
OVERLAP = 113
"""Published number of classes that are ImageNet's, too."""


def open_objectnet(known: KnownSet, root: Path) -> Dataset:
    """Open the unpacked archive, or its folder ``images`` beside ``mappings``.

    Label ``i`` is the i-th of the overlapping folders in sorted order, whatever folders are here.

    Raises:
        UserError: no mapping, or no images of its classes.
    """
    above = [root, root.parent] if root.name == "images" else [root]
    places = [folder / MAPPINGS for folder in above if (folder / MAPPINGS).is_dir()]
    if not places:
        raise UserError(
            f"{root} has no folder {MAPPINGS}/, which tells ObjectNet's classes; "
            "give the unpacked archive (objectnet-1.0), with images/ and mappings/ in it"
        )
    mapping = read_mapping(places[0])
    listing = _without_mappings(scan(root / "images" if (root / "images").is_dir() else root))
    check_has_images(listing)
    labelled = _labelled(listing, mapping)
    space = LabelSpace(
        known.name,
        tuple(mapping.logits[folder] for folder in mapping.overlap),
        others_count=True,
        convention=f"mapped-{len(mapping.overlap)}",
    )
    return files_dataset(
        listing,
        labelled,
        name=known.name,
        clean_id=known.name,
        images=FileImages(labelled.images, BORDER),
        space=space,
        notes=(*labelled.notes, *_differences(known, listing, labelled, mapping)),
    )


def _without_mappings(listing: Listing) -> Listing:
    others = tuple(item for item in listing.others if not item.id.startswith(f"{MAPPINGS}/"))
    empty = tuple(name for name in listing.empty if name != MAPPINGS)
    return Listing(listing.root, listing.images, others, empty)


def _folder_of(image_id: str) -> str:
    return image_id.split("/")[-2] if "/" in image_id else ""


def _labelled(listing: Listing, mapping: Mapping) -> Labelled:
    label = {folder: position for position, folder in enumerate(mapping.overlap)}
    kept = tuple(image for image in listing.images if _folder_of(image.id) in label)
    if not kept:
        raise UserError(
            f"{listing.root}: none of its folders is a class of ImageNet-1k by ObjectNet's mapping"
        )
    images = f"{len(kept):,} of {count(len(listing.images), 'image')}"
    rule = (
        f"scored over all 1000 logits: right is an answer that its mapping gives the image's "
        f"class; {images} are evaluated, those in the {len(label)} classes that are ImageNet's, "
        f"too; {BORDER} pixels of border are cut off"
    )
    return Labelled(
        kept,
        tuple(label[_folder_of(image.id)] for image in kept),
        len(label),
        "ObjectNet's folders, by its own mapping",
        (rule, *mapping.notes),
    )


def _differences(
    known: KnownSet, listing: Listing, labelled: Labelled, mapping: Mapping
) -> Iterator[str]:
    folders = {_folder_of(image.id) for image in listing.images}
    if len(folders) != known.classes:
        yield f"{len(folders)} folders with images, {known.classes} in the published set"
    if len(mapping.overlap) != OVERLAP:
        yield f"its mapping gives {len(mapping.overlap)} classes of ImageNet, not {OVERLAP}"
    strange = sorted(folders - set(mapping.folders))
    if strange:
        yield (
            f"{count(len(strange), 'folder')} left out that its mapping does not name: "
            f"{name_some(name or '.' for name in strange)}"
        )
    missing = sorted(set(mapping.overlap) - folders)
    if missing:
        yield (
            f"{len(missing)} of its {len(mapping.overlap)} classes have no image here: "
            f"{name_some(missing)}"
        )
    if listing.empty:
        yield f"{count(len(listing.empty), 'folder')} without images: {name_some(listing.empty)}"
    yield from image_count(known, len(listing.images), listing)
