"""Tiny ImageNet as it is downloaded: one folder of validation images, and two lists."""

from pathlib import Path
from typing import NamedTuple

from ...errors import UserError
from ...files.text import read_text
from ...registry import unknown
from .class_list import OwnClasses

ANNOTATIONS, WNIDS = "val_annotations.txt", "wnids.txt"
ORDERS = ("sorted", "file")


class TinyImageNet(NamedTuple):
    """Where its validation images are.

    Attributes:
        images: their folder.
        annotations: their labels.
        wnids: the list of the 200 classes, in an order of its own.
    """

    images: Path
    annotations: Path
    wnids: Path


def find_tiny_imagenet(path: Path) -> TinyImageNet | None:
    """The set, where a folder is it, its ``val``, or the ``images`` in that; else None."""
    for val in (path / "val", path, path.parent):
        tiny = TinyImageNet(val / "images", val / ANNOTATIONS, val.parent / WNIDS)
        fits = path in (val.parent, val, tiny.images)
        if fits and tiny.images.is_dir() and tiny.annotations.is_file() and tiny.wnids.is_file():
            return tiny
    return None


def tiny_classes(tiny: TinyImageNet, order: str | None) -> OwnClasses:
    """Its classes by number, in the order that the model was trained with.

    Args:
        tiny: the set.
        order: ``sorted``, as torchvision and timm number folders; ``file``, as ``wnids.txt`` does.

    Raises:
        UserError: not said, and the two differ; or another word.
    """
    if order not in (None, *ORDERS):
        raise unknown("--class-order", order, ORDERS)
    wnids = read_text(tiny.wnids).split()
    if order is None and wnids != sorted(wnids):
        raise UserError(
            f"{tiny.images} is Tiny ImageNet, whose {WNIDS} is not sorted, so that a network may "
            "count its classes in two ways; say which: --class-order sorted (trained from folders, "
            f"with torchvision or timm) or --class-order file (by {WNIDS})"
        )
    ordered = wnids if order == "file" else sorted(wnids)
    source = f"{WNIDS} ({'as it stands' if order == 'file' else 'sorted'})"
    return OwnClasses({wnid: index for index, wnid in enumerate(ordered)}, source, len(ordered))
