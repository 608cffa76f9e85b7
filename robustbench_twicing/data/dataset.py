"""What the suite sees of any data set: ids, labels, and pixels one image at a time."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..errors import UserError
from .imagenet import LabelSpace
from .preprocessing import Preprocessing

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, order=True)
class Skipped:
    """A file that was left out before anything was decoded, and why."""

    id: str
    reason: str


class Remark(NamedTuple):
    """A flag that stays on every number, and what it means for this data set."""

    flag: str
    sentence: str


class Images(Protocol):
    """Where pixels come from: files, or an array."""

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """Image ``index`` as uint8 (crop, crop, 3)."""
        ...

    def picture(self, index: int) -> Image.Image:
        """Image ``index`` in RGB at its own size, as training augments it."""
        ...

    def signature(self, index: int) -> str:
        """What the fingerprint says of image ``index``'s content."""
        ...

    def select(self, indices: Sequence[int]) -> "Images":
        """The images at these positions, in this order."""
        ...


@dataclass(frozen=True)
class RightLabels:
    """Labels of images of which each may have several; an answer is right where it is any of them.

    Attributes:
        of: of every image, ascending, at least one; its label is the first of them.
        sha256: of what the file says that they are from, whichever of its images are here.
    """

    of: tuple[tuple[int, ...], ...]
    sha256: str


@dataclass(frozen=True)
class Dataset:
    """Labelled images in a fixed order.

    Attributes:
        name: what reports call it: the folder's or file's name, ``samples:imagenet``, ....
        ids: unique names, posix paths relative to the root for files; their order never depends
            on the order in which the system lists a folder.
        labels: class index of every image.
        images: where the pixels come from.
        num_classes: length of the label space (1000 for ImageNet's, however few classes occur);
            None where nothing says it (arrays without a class list).
        labelling: how labels were found, for example ``folders named by wnid``.
        notes: sentences a reader of the numbers must know.
        flags: short marks that stay on every number, like ``limit-12-of-100``.
        skipped: files left out, with the reason; known before anything is decoded.
        source: ``files``; generated data say otherwise.
        space: which of the model's 1000 logits stand for which label, where label ``i`` is not
            simply logit ``i``.
        clean_id: id of the condition that leaves the images as they are: ``clean``, or the data
            set's name where its images are a test of their own (``imagenet-a``).
        limit_seed: of the choice of these images; None where nothing was chosen.
        path: the folder or file that holds the images; None where nothing may be read off it.
        hidden: files and folders that were left out because their names begin with a dot.
        several: right labels, where images may have more than one.
    """

    name: str
    ids: tuple[str, ...]
    labels: tuple[int, ...]
    images: Images
    num_classes: int | None
    labelling: str
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    source: str = "files"
    space: LabelSpace | None = None
    clean_id: str = "clean"
    limit_seed: int | None = None
    path: Path | None = None
    hidden: tuple[str, ...] = ()
    several: RightLabels | None = None

    def __post_init__(self) -> None:
        if not len(self.ids) == len(set(self.ids)) == len(self.labels):
            raise ValueError(f"{self.name}: ids must be unique and have one label each")
        if self.several and tuple(right[0] for right in self.several.of) != self.labels:
            raise ValueError(f"{self.name}: labels must be the first right ones")

    def __len__(self) -> int:
        return len(self.ids)

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """Image ``index`` after resize and crop, uint8 (crop, crop, 3).

        Raises:
            BadImageError: it cannot be decoded; the message has its path.
        """
        return self.images.pixels(index, preprocessing)

    def right(self, index: int) -> tuple[int, ...]:
        """The right labels of image ``index``, ascending."""
        return (self.labels[index],) if self.several is None else self.several.of[index]

    @cached_property
    def highest_label(self) -> int:
        """Of all images; 0 where there is none."""
        return max((self.right(image)[-1] for image in range(len(self))), default=0)

    def right_labels(self, indices: Sequence[int]) -> NDArray[np.int64]:
        """Those of some images (N, M), as `padded`."""
        return padded([self.right(index) for index in indices])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over id, label and signature of every image, in order, as JSON lines.

        A file's signature is its size in bytes, an array image's the SHA-256 of its pixels. Where
        images may have several labels, a list of them stands for the label.
        """
        digest = hashlib.sha256()
        labels = self.labels if self.several is None else self.several.of
        for index, (image, label) in enumerate(zip(self.ids, labels, strict=True)):
            line = json.dumps([image, label, self.images.signature(index)], ensure_ascii=True)
            digest.update(line.encode() + b"\n")
        return digest.hexdigest()

    def remarked(self, remarks: Iterable[Remark]) -> Self:
        """The same images, with these flags and sentences beside its own."""
        flags, notes = zip(*remarks, strict=True) if (remarks := tuple(remarks)) else ((), ())
        return replace(self, flags=(*self.flags, *flags), notes=(*self.notes, *notes))

    def select(self, indices: Sequence[int], *, flag: str = "", note: str = "") -> Self:
        """The images at these positions, in this order, under the same name."""
        several = self.several
        if several is not None:
            several = replace(several, of=tuple(several.of[index] for index in indices))
        return replace(
            self,
            several=several,
            ids=tuple(self.ids[index] for index in indices),
            labels=tuple(self.labels[index] for index in indices),
            images=self.images.select(indices),
            flags=(*self.flags, flag) if flag else self.flags,
            notes=(*self.notes, note) if note else self.notes,
        )


def padded(right: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    """Right labels of images (N, M); behind an image's last one its first is repeated."""
    most = max(map(len, right), default=1)
    rows = [(*labels, *labels[:1] * (most - len(labels))) for labels in right]
    return np.array(rows, np.int64).reshape(len(rows), most)


def require_one_label(dataset: Dataset, what: str) -> None:
    """Refuse images of which each may have several right labels.

    Args:
        dataset: the images.
        what: needs one label of each, like ``pgd@4/255``.

    Raises:
        UserError: they may.
    """
    if dataset.several is not None:
        raise UserError(
            f"{what} needs one label an image, and {dataset.name} may have several "
            f"({dataset.labelling}): from one right label to another is no success; leave attacks "
            "out (--attacks clean; corruptions may stay), or give --labels with one label an image"
        )


def limit_dataset(dataset: Dataset, size: int, *, seed: int = 0) -> Dataset:
    """Keep ``size`` images, taken class by class in turn.

    Classes are visited in a seeded order, round after round; within a class images come in a
    seeded order of their ids. So a smaller limit is part of a larger one, and neither the order
    of the files nor other images decide whether an image comes before its neighbour.

    Args:
        dataset: what to choose from.
        size: how many images to keep, at least 1; all, unflagged, where there are no more.
        seed: of the choice.

    Returns:
        The images in the order of ``dataset``, flagged ``limit-SIZE-of-ALL``.

    Raises:
        UserError: ``size`` is less than 1.
    """
    from ..seeds import derive_seed  # needs torch, which opening alone does not

    if size < 1:
        raise UserError(f"--limit {size} leaves no image to evaluate; it must be 1 or more")
    if size >= len(dataset):
        return dataset
    by_class: dict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(dataset.labels):
        by_class[label].append(index)
    ranked: list[tuple[int, int, int]] = []
    for label, members in by_class.items():
        turn = derive_seed(seed, "limit", "class", label)
        members.sort(key=lambda index: derive_seed(seed, "limit", "image", dataset.ids[index]))
        ranked.extend((round_, turn, index) for round_, index in enumerate(members))
    chosen = sorted(index for _, _, index in sorted(ranked)[:size])
    classes = len({dataset.labels[index] for index in chosen})
    note = (
        f"{size} of {len(dataset)} images were used, spread over {classes} "
        f"of {len(by_class)} classes (limit seed {seed})"
    )
    limited = dataset.select(chosen, flag=f"limit-{size}-of-{len(dataset)}", note=note)
    return replace(limited, limit_seed=seed)
