"""The test sets that the suite knows by name: what they hold, and what their folders are called."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...registry import Registry
from ..imagenet import NUM_CLASSES, Subset

Folders = Literal["wnid", "number", "label"]


@dataclass(frozen=True)
class KnownSet:
    """A public test set for models of ImageNet-1k.

    Attributes:
        name: as in ``--data NAME=DIR`` and in results.
        title: in sentences.
        images: how many the published set has.
        classes: how many class folders it has.
        folders: how they are named; numbers may also be wnids.
        usual: what its folder is usually called, lower case, with ``-`` for ``_`` and for a space.
        beginnings: other names of its folder that begin like this.
        subset: the 200 classes over which it is scored; None for all 1000.
        shifted: whether its images are a test of their own, never to be called clean.
    """

    name: str
    title: str
    images: int
    classes: int
    folders: Folders
    usual: tuple[str, ...]
    beginnings: tuple[str, ...] = ()
    subset: Subset | None = None
    shifted: bool = True


IMAGENET = "imagenet"
OBJECTNET = "objectnet"
KNOWN_SETS: Registry[KnownSet] = Registry("data set")
for _known in (
    KnownSet(
        IMAGENET,
        "the ImageNet validation set",
        50_000,
        NUM_CLASSES,
        "wnid",
        ("imagenet", "imagenet-1k", "imagenet1k", "imagenet-val", "ilsvrc2012", "ilsvrc2012-val"),
        shifted=False,
    ),
    KnownSet("imagenet-a", "ImageNet-A", 7_500, 200, "wnid", ("imagenet-a",), subset="imagenet-a"),
    KnownSet("imagenet-r", "ImageNet-R", 30_000, 200, "wnid", ("imagenet-r",), subset="imagenet-r"),
    KnownSet(
        "imagenetv2",
        "ImageNet-V2",
        10_000,
        NUM_CLASSES,
        "number",
        ("imagenetv2", "imagenet-v2"),
        ("imagenetv2-", "imagenet-v2-"),
    ),
    KnownSet(
        "imagenet-sketch",
        "ImageNet-Sketch",
        50_889,
        NUM_CLASSES,
        "wnid",
        ("imagenet-sketch", "sketch"),
    ),
    KnownSet(OBJECTNET, "ObjectNet", 50_273, 313, "label", (OBJECTNET, "objectnet-1.0")),
):
    KNOWN_SETS[_known.name] = _known

_ALIASES = {"imagenet-v2": "imagenetv2", "sketch": "imagenet-sketch"}


def known_set(name: str) -> KnownSet:
    """The set of that name, ``imagenet-v2`` and ``sketch`` among them.

    Raises:
        UserError: no such set.
    """
    return KNOWN_SETS[_ALIASES.get(name, name)]


def is_usual_folder(known: KnownSet, folder: str) -> bool:
    """Whether a folder of this name usually holds the set."""
    name = folder.lower().replace("_", "-").replace(" ", "-")
    return name in known.usual or name.startswith(known.beginnings or ("/",))


def validation_folder(root: Path) -> Path:
    """``val`` inside an ImageNet folder that holds the training images, too; else the folder."""
    inner = root / "val"
    return inner if inner.is_dir() else root
