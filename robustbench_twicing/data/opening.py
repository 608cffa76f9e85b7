"""One door to all data: a folder, an array file, or foolbox's samples."""

import os
from pathlib import Path

from ..errors import UserError
from .class_folders import Labelled, label_by_folder
from .dataset import Dataset
from .files import FileImages
from .samples import SAMPLES, open_samples
from .scanning import IMAGE_ENDINGS, Listing, name_some, scan


def open_dataset(
    spec: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    classes: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Open labelled images; nothing is decoded yet.

    Args:
        spec: a folder, or ``samples:imagenet``.
        labels: label file of a folder without class folders.
        classes: list of own classes: a text file, one name a line, or JSON name -> index.
        limit: keep this many images, spread over the classes.
        seed: of that choice.

    Raises:
        UserError: nothing there, no images, or labels that cannot be trusted.
    """
    if labels is not None or classes is not None:
        raise NotImplementedError("label files and class lists")
    dataset = _open(os.fspath(spec))
    if limit is None:
        return dataset
    from .limit import limit_dataset

    return limit_dataset(dataset, limit, seed=seed)


def _open(spec: str) -> Dataset:
    if spec == SAMPLES:
        return open_samples()
    root = Path(os.path.abspath(Path(spec).expanduser()))  # noqa: PTH100 - keeps a link's name
    if not root.exists():
        raise UserError(
            f"no data at {root}; right would be a folder of images, an array file (.npz, .npy) "
            f"or {SAMPLES}"
        )
    return _open_folder(root)


def _open_folder(root: Path) -> Dataset:
    listing = scan(root)
    if not listing.images:
        raise UserError(_no_images(listing))
    labelled = label_by_folder(listing)
    return _files_dataset(listing, labelled)


def _files_dataset(listing: Listing, labelled: Labelled) -> Dataset:
    return Dataset(
        name=listing.root.name,
        ids=tuple(image.id for image in labelled.images),
        labels=labelled.labels,
        images=FileImages(labelled.images),
        num_classes=labelled.num_classes,
        labelling=labelled.labelling,
        notes=labelled.notes,
        skipped=listing.others,
    )


def _no_images(listing: Listing) -> str:
    seen = f"; seen: {name_some(item.id for item in listing.others)}" if listing.others else ""
    return f"{listing.root} holds no images ({', '.join(sorted(IMAGE_ENDINGS))}){seen}"
