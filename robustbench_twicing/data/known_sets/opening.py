"""Open a test set that the suite knows by name: labels, the rule of its score, remarks."""

from dataclasses import replace
from pathlib import Path

from ...errors import UserError
from ..archives.finding import find_archives
from ..archives.opening import open_images
from ..dataset import Dataset
from ..folders.class_folders import (
    Labelled,
    has_numbered_folders,
    has_wnid_folders,
    label_by_number,
    label_by_wnid,
)
from ..folders.image_files import files_dataset
from ..folders.scanning import Listing, check_has_images
from ..imagenet import NUM_CLASSES, LabelSpace, subset_space
from .checks import check_fits, differences
from .objectnet import open_objectnet
from .table import KnownSet, plain_name


def open_known(known: KnownSet, path: Path) -> Dataset:
    """Open a folder as the set that it is said to be.

    Raises:
        UserError: nothing there, labels that cannot be trusted, or the images of another set.
    """
    if not path.is_dir() and (known.folders == "label" or find_archives(path) is None):
        form = "folder" if known.folders == "label" else "folder, .tar or .parquet"
        raise UserError(f"{known.name} should be at {path}, which is not a {form}")
    if known.folders == "label":
        return open_objectnet(known, path)
    root = known.root(path)
    packed = open_images(root)
    listing = packed.listing
    check_has_images(listing)
    labelled = packed.labelled
    if labelled is None or labelled.num_classes != NUM_CLASSES:
        labelled = _labelled(known, listing)
    check_fits(known, root, labelled)
    notes = (*labelled.notes, *differences(known, listing, labelled))
    facts = {"name": known.name, "clean_id": known.name if known.shifted else "clean"}
    dataset = files_dataset(listing, labelled, notes=notes, **facts)
    if known.subset is not None:
        dataset = _over_its_classes(dataset, known, subset_space(known.subset))
    return _with_variant(dataset, known, root) if known.variants else dataset


def _labelled(known: KnownSet, listing: Listing) -> Labelled:
    if has_wnid_folders(listing):
        return label_by_wnid(listing)
    if known.folders == "number" and has_numbered_folders(listing):
        return label_by_number(listing)
    naming = "numbered 0 to 999" if known.folders == "number" else "named by wnid (n01440764)"
    advice = "a folder's position among the others does not tell its class"
    if "/" not in listing.images[0].id:
        advice = "a flat folder is opened as plain --data DIR with --labels FILE"
    raise UserError(
        f"{listing.root}: {known.title}'s folders are {naming}, and these are not "
        f"({listing.images[0].id}); {advice}"
    )


def _over_its_classes(dataset: Dataset, known: KnownSet, space: LabelSpace) -> Dataset:
    """Labels become positions among its sorted classes, found by wnid, whatever is missing."""
    position = {logits[0]: label for label, logits in enumerate(space.logits)}
    note = (
        f"scored over the {len(position)} classes of {known.title} alone, for attacks, too (the "
        f"other {NUM_CLASSES - len(position)} logits are left out), as papers report it; "
        f"{known.name}/1000-way is the same forward pass scored over all 1000"
    )
    return replace(
        dataset,
        labels=tuple(position[label] for label in dataset.labels),
        num_classes=len(position),
        space=space,
        notes=(note, *dataset.notes),
    )


def _with_variant(dataset: Dataset, known: KnownSet, root: Path) -> Dataset:
    """Which of the variants it is, as far as the folder's name tells."""
    names = plain_name("/".join((root.name, *dataset.ids[:1])))
    variant = next((variant for variant in known.variants if variant in names), None)
    if variant is None:
        note = f"its folder does not say which variant it is; papers mean {known.variants[0]}"
        return replace(dataset, notes=(*dataset.notes, note))
    flags = () if variant == known.variants[0] else (f"variant-{variant}",)
    note = f"variant {variant}, by the folder's name"
    return replace(dataset, notes=(*dataset.notes, note), flags=(*dataset.flags, *flags))
