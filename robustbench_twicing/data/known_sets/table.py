"""The test sets that the suite knows by name: what they hold, and what their folders are called."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...registry import Registry
from ..imagenet import NUM_CLASSES, SUBSETS


@dataclass(frozen=True)
class KnownSet:
    """A public test set for models of ImageNet-1k, as `declare` takes it.

    Attributes:
        name: as in ``--data NAME=DIR`` and in results.
        title: in sentences.
        images: how many the published set has.
        classes: how many class folders it has.
        folders: how they are named: by wnid; by number, or by wnid; by labels that a mapping beside
            them gives, as ObjectNet's.
        usual: what its folder is usually called, lower case, with ``-`` for ``_`` and for a space.
        beginnings: other names of its folder that begin like this.
        aliases: other names for it on the command line.
        variants: ways of choosing its images, told by the folder's name; the first is the one that
            papers mean.
        inside: the folder inside its own in which the images lie, where there is one: ``val``.
        shifted: whether its images are a test of their own, never to be called clean.
    """

    name: str
    title: str
    images: int
    classes: int
    folders: Literal["wnid", "number", "label"]
    usual: tuple[str, ...]
    beginnings: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    inside: str = ""
    shifted: bool = True

    @property
    def subset(self) -> str | None:
        """The class list over which it is scored, its own; None for all 1000."""
        return self.name if self.name in SUBSETS else None

    def is_usual_folder(self, folder: str) -> bool:
        """Whether a folder of this name usually holds the set."""
        name = plain_name(folder)
        return name in self.usual or name.startswith(self.beginnings or ("/",))

    def is_main_variant(self, folder: str) -> bool:
        """Whether a folder's name says that it holds the variant that papers mean."""
        return any(variant in plain_name(folder) for variant in self.variants[:1])

    def root(self, folder: Path) -> Path:
        """Where its images lie: ``val`` in an ImageNet folder that has training images, too."""
        inner = folder / self.inside
        return inner if inner.is_dir() else folder


def plain_name(folder: str) -> str:
    """A folder's name as `KnownSet.usual` has it."""
    return folder.lower().replace("_", "-").replace(" ", "-")


IMAGENET = "imagenet"
KNOWN_SETS: Registry[KnownSet] = Registry("data set")


def declare(known: KnownSet, *, wnids: Sequence[str] = ()) -> None:
    """Make a test set known by its name: that is all it takes to evaluate it.

    Args:
        known: what it is.
        wnids: the classes over whose logits alone it is scored; none for all 1000. Its accuracy
            over all of them, and clean images of these classes, are then shown beside it.

    Raises:
        ValueError: another set has the name.
    """
    KNOWN_SETS[known.name] = known
    if wnids:
        SUBSETS[known.name] = tuple(sorted(wnids))


declare(
    KnownSet(
        IMAGENET,
        "the ImageNet validation set",
        50_000,
        NUM_CLASSES,
        "wnid",
        ("imagenet", "imagenet-1k", "imagenet1k", "imagenet-val", "ilsvrc2012", "ilsvrc2012-val"),
        inside="val",
        shifted=False,
    )
)
declare(KnownSet("imagenet-a", "ImageNet-A", 7_500, 200, "wnid", ("imagenet-a",)))
declare(KnownSet("imagenet-r", "ImageNet-R", 30_000, 200, "wnid", ("imagenet-r",)))
declare(
    KnownSet(
        "imagenetv2",
        "ImageNet-V2",
        10_000,
        NUM_CLASSES,
        "number",
        ("imagenetv2", "imagenet-v2"),
        ("imagenetv2-", "imagenet-v2-"),
        aliases=("imagenet-v2",),
        variants=("matched-frequency", "threshold", "top-images"),
    )
)
declare(
    KnownSet(
        "imagenet-sketch",
        "ImageNet-Sketch",
        50_889,
        NUM_CLASSES,
        "wnid",
        ("imagenet-sketch", "sketch"),
        aliases=("sketch",),
    )
)
declare(KnownSet("objectnet", "ObjectNet", 50_273, 313, "label", ("objectnet", "objectnet-1.0")))


def known_set(name: str) -> KnownSet:
    """The set of that name, ``imagenet-v2`` and ``sketch`` among them.

    Raises:
        UserError: no such set.
    """
    return (
        next((known for known in KNOWN_SETS.values() if name in known.aliases), None)
        or (KNOWN_SETS[name])
    )
