"""ObjectNet (Barbu et al., NeurIPS 2019): its classes in ImageNet's, and its red border cut off.

The archive is ``objectnet-1.0/`` with ``images/FOLDER/*.png`` and ``mappings/``. Of 313 folders 113
are classes of ImageNet-1k, some of them several (a helmet is a crash helmet or a football helmet);
the others are left out. An image is right where the largest of all 1000 logits is one of its
class's.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import UserError
from ...files.printable import count, name_some
from ...files.text import read_json, read_text
from ..dataset import Dataset
from ..folders.class_folders import Labelled
from ..folders.image_files import FileImages, files_dataset
from ..folders.scanning import Listing, check_has_images, scan
from ..imagenet import NUM_CLASSES, LabelSpace
from .checks import image_count
from .table import KnownSet

MAPPINGS = "mappings"
FOLDERS_FILE = "folder_to_objectnet_label.json"
"""Folder name to ObjectNet's label."""
IMAGENET_FILE = "objectnet_to_imagenet_1k.json"
"""Label to the names of ImageNet's classes, separated by ``;``; overlapping labels only."""
INDEX_FILE = "pytorch_to_imagenet_2012_id.json"
"""Class index 0 to 999, as every model has it, to the position in ILSVRC2012's own order."""
NAMES_FILE = "imagenet_to_label_2012_v2"
"""One class name a line, in ILSVRC2012's own order."""


class Mapping(NamedTuple):
    """ObjectNet's classes.

    Attributes:
        folders: every folder's label.
        logits: of the folders that are classes of ImageNet, its class indices.
        notes: sentences a reader must know.
    """

    folders: dict[str, str]
    logits: dict[str, tuple[int, ...]]
    notes: tuple[str, ...] = ()

    @property
    def overlap(self) -> tuple[str, ...]:
        """The folders that are classes of ImageNet, sorted."""
        return tuple(sorted(self.logits))


def read_mapping(root: Path) -> Mapping:
    """Read the mapping.

    Raises:
        UserError: a file is missing or of another form, or the files contradict each other.
    """
    folders = _texts(root / FOLDERS_FILE)
    names = _texts(root / IMAGENET_FILE)
    known, notes = _indices(root)
    by_label = {label: folder for folder, label in folders.items()}
    strange = sorted(set(names) - set(by_label))
    if strange:
        raise UserError(
            f"{root / IMAGENET_FILE} maps labels that {FOLDERS_FILE} gives no folder: "
            f"{name_some(strange)}"
        )
    logits = {
        by_label[label]: tuple(_index(name, known, root) for name in _split(text))
        for label, text in names.items()
        if _split(text)
    }
    counts = Counter(index for indices in logits.values() for index in indices)
    twice = sorted(index for index, number in counts.items() if number > 1)
    if twice:
        raise UserError(f"{root / IMAGENET_FILE} gives class {twice[0]} of ImageNet two labels")
    return Mapping(folders, logits, notes)


def _indices(root: Path) -> tuple[dict[str, list[int]], tuple[str, ...]]:
    """Class indices by class name; a name that two classes share has both."""
    indices: dict[str, list[int]] = {}
    if not (root / NAMES_FILE).exists():
        from timm.data.imagenet_info import ImageNetInfo

        info = ImageNetInfo("imagenet-1k")
        for index in range(NUM_CLASSES):
            indices.setdefault(info.index_to_description(index), []).append(index)
        return indices, (f"{NAMES_FILE} is missing; class names are those of timm's list",)
    names = [line.strip() for line in read_text(root / NAMES_FILE).splitlines()]
    for index, position in _positions(root / INDEX_FILE).items():
        if position >= len(names):
            raise UserError(
                f"{root / INDEX_FILE}: class {index} is position {position}, but {NAMES_FILE} has "
                f"{len(names)} lines"
            )
        indices.setdefault(names[position], []).append(index)
    return indices, ()


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(";") if name.strip()]


def _index(name: str, known: dict[str, list[int]], root: Path) -> int:
    indices = known.get(name, [])
    if len(indices) != 1:
        many = f"means classes {' and '.join(map(str, indices))}" if indices else "is no class"
        raise UserError(f"{root / IMAGENET_FILE}: {name!r} {many} of ImageNet-1k by {NAMES_FILE}")
    return indices[0]


def _positions(path: Path) -> dict[int, int]:
    content = _json(path)
    right = all(
        key.isdecimal() and int(key) < NUM_CLASSES and type(value) is int and value >= 0
        for key, value in content.items()
    )
    if not right:
        raise UserError(f"{path} is not a mapping of class indices 0 to 999 to positions")
    return {int(key): value for key, value in content.items()}


def _texts(path: Path) -> dict[str, str]:
    content = _json(path)
    if not all(isinstance(value, str) for value in content.values()):
        raise UserError(f"{path} is not a mapping of names to names")
    return content


def _json(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict) or not content:
        raise UserError(f"{path} is not a JSON object with entries")
    return content


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
    return replace(listing, others=others, empty=empty)


def _folder_of(image_id: str) -> str:
    return image_id.split("/")[-2] if "/" in image_id else ""


def _labelled(listing: Listing, mapping: Mapping) -> Labelled:
    label = {folder: position for position, folder in enumerate(mapping.overlap)}
    evaluated = tuple(image for image in listing.images if _folder_of(image.id) in label)
    if not evaluated:
        raise UserError(
            f"{listing.root}: none of its folders is a class of ImageNet-1k by ObjectNet's mapping"
        )
    images = f"{len(evaluated):,} of {count(len(listing.images), 'image')}"
    rule = (
        f"scored over all 1000 logits: right is an answer that its mapping gives the image's "
        f"class; {images} are evaluated, those in the {len(label)} classes that are ImageNet's, "
        f"too; {BORDER} pixels of border are cut off"
    )
    return Labelled(
        evaluated,
        tuple(label[_folder_of(image.id)] for image in evaluated),
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
