"""What the suite sees of any data set: ids, labels, and pixels one image at a time."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

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

    def __post_init__(self) -> None:
        if not len(self.ids) == len(set(self.ids)) == len(self.labels):
            raise ValueError(f"{self.name}: ids must be unique and have one label each")

    def __len__(self) -> int:
        return len(self.ids)

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """Image ``index`` after resize and crop, uint8 (crop, crop, 3).

        Raises:
            BadImageError: it cannot be decoded; the message has its path.
        """
        return self.images.pixels(index, preprocessing)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over id, label and signature of every image, in order, as JSON lines.

        A file's signature is its size in bytes, an array image's the SHA-256 of its pixels.
        """
        digest = hashlib.sha256()
        for index, (image, label) in enumerate(zip(self.ids, self.labels, strict=True)):
            line = json.dumps([image, label, self.images.signature(index)], ensure_ascii=True)
            digest.update(line.encode() + b"\n")
        return digest.hexdigest()

    def remarked(self, remarks: Iterable[Remark]) -> Self:
        """The same images, with these flags and sentences beside its own."""
        flags, notes = zip(*remarks, strict=True) if (remarks := tuple(remarks)) else ((), ())
        return replace(self, flags=(*self.flags, *flags), notes=(*self.notes, *notes))

    def select(self, indices: Sequence[int], *, flag: str = "", note: str = "") -> Self:
        """The images at these positions, in this order, under the same name."""
        return replace(
            self,
            ids=tuple(self.ids[index] for index in indices),
            labels=tuple(self.labels[index] for index in indices),
            images=self.images.select(indices),
            flags=(*self.flags, flag) if flag else self.flags,
            notes=(*self.notes, note) if note else self.notes,
        )
