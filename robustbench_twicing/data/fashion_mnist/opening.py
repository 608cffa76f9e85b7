"""``fashion-mnist:test1000``, ``fashion-mnist:DIR`` and ``fashion-mnist-train:DIR``."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..arrays import ArrayImages
from ..dataset import Dataset
from .idx import NUM_CLASSES, SIDE, read_split

TEST, TRAIN = "fashion-mnist:", "fashion-mnist-train:"
"""What stands before the folder with the whole files: the test or the training split of it."""
CUT = "fashion-mnist:test1000"
CUT_FILE = "test1000.npz"
LABELLING = "Fashion-MNIST's own classes"
CLASSES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)
"""Names of the labels 0 to 9, as in the README of the data set."""
NOTE = (
    f"grey images of {SIDE} x {SIDE} pixels, the channel repeated three times; taken as they are "
    "by a model of that input size"
)


def is_fashion_mnist(spec: str) -> bool:
    """Whether a data set is asked for by one of the three names."""
    return spec.startswith((TEST, TRAIN))


def open_fashion_mnist(spec: str) -> Dataset:
    """Open the bundled cut of 1,000 test images, or a whole split from its files.

    An image is called by its split and its position there (``test/00042``), in the cut too, so
    that the same image has the same random draws in both.

    Args:
        spec: ``fashion-mnist:test1000``, ``fashion-mnist:DIR`` or ``fashion-mnist-train:DIR``.

    Raises:
        UserError: no folder is named, or it does not hold the files.
    """
    if spec == CUT:
        return _open_cut()
    split, prefix = ("train", TRAIN) if spec.startswith(TRAIN) else ("test", TEST)
    folder = Path(spec.removeprefix(prefix)).expanduser()
    if not spec.removeprefix(prefix) or not folder.is_dir():
        raise UserError(
            f"{spec!r} names no folder; write {prefix}DIR with Fashion-MNIST's files, or {CUT}"
        )
    images, labels = read_split(folder, split)
    return _dataset(f"fashion-mnist:{split}", split, images, labels, range(len(labels)))


def _open_cut() -> Dataset:
    with files(__package__).joinpath(CUT_FILE).open("rb") as file, np.load(file) as content:
        images, labels, positions = (content[key] for key in ("images", "labels", "positions"))
    return _dataset(CUT, "test", images, labels, positions.tolist())


def _dataset(
    name: str,
    split: str,
    images: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    positions: Sequence[int],
) -> Dataset:
    return Dataset(
        name=name,
        ids=tuple(f"{split}/{position:05d}" for position in positions),
        labels=tuple(labels.tolist()),
        images=ArrayImages(images, range(len(images))),
        num_classes=NUM_CLASSES,
        labelling=LABELLING,
        notes=(NOTE,),
    )
