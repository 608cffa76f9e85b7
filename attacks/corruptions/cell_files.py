"""The files of one condition: in a folder, or in a tar archive as ImageNet-C is downloaded."""

import io
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
from PIL import Image

from robustbench_twicing.data.archives.tar import Members, read_member
from robustbench_twicing.data.folders.scanning import IMAGE_ENDINGS
from robustbench_twicing.data.imagenet_c import CATEGORIES, GROUPS, OTHER_SETS, SEVERITIES, Cell
from robustbench_twicing.data.stored import ImageFile, Stored
from robustbench_twicing.errors import UnreadableError, UserError
from robustbench_twicing.files.arrays import ArrayFile
from robustbench_twicing.files.stamp import Stamp

from .layout import RECORD, find_folder, parse_record, read_record

Record = dict[str, Any]
LABELS = "labels.npy"


class CellFiles(Protocol):
    """Files of one condition, each by its ``class/name``; ``str`` of it names the place."""

    def names(self) -> list[str]:
        """Of every image, with its ending, in order of class and name."""
        ...

    def find(self, stem: str, endings: Sequence[str]) -> Stored | None:
        """The image of that ``class/name``; None where there is none."""
        ...

    def check(self, files: int) -> None:
        """Nothing, unless all of the files went away since they were counted.

        Raises:
            UnreadableError: they did.
        """
        ...


@dataclass(frozen=True)
class FolderFiles:
    """Class folders of files in a folder."""

    folder: Path

    def names(self) -> list[str]:
        """See `CellFiles`."""
        return list(_names(self.folder))

    def find(self, stem: str, endings: Sequence[str]) -> Stored | None:
        """See `CellFiles`."""
        paths = (self.folder / f"{stem}{ending}" for ending in endings)
        path = next((path for path in paths if path.is_file()), None)
        return None if path is None else ImageFile(path.name, path.parent, 0)

    def check(self, files: int) -> None:
        """See `CellFiles`."""
        try:
            empty = not any(self.folder.iterdir())
        except OSError as error:
            raise UnreadableError(f"{self.folder} cannot be read: {error.strerror}") from error
        if empty and files:
            raise UnreadableError(
                f"{self.folder} had {files} images when it was opened and is empty now"
            )

    def __str__(self) -> str:
        return str(self.folder)


def _names(folder: Path) -> Iterator[str]:
    groups = [entry for entry in os.scandir(folder) if entry.is_dir()]
    for group in sorted(groups, key=lambda entry: entry.name):
        for name in sorted(entry.name for entry in os.scandir(group)):
            if _is_image(f"{group.name}/{name}"):
                yield f"{group.name}/{name}"


def _is_image(name: str) -> bool:
    """Whether a file of this name below a condition's folder is one of its images."""
    parts = name.split("/")
    hidden = any(part.startswith(".") for part in parts)
    return len(parts) == 2 and not hidden and Path(name).suffix.lower() in IMAGE_ENDINGS


@dataclass(frozen=True)
class TarFiles:
    """The same below a folder of a tar archive, ``fog/3/``; each process has its own index."""

    tar: Path
    below: str

    @cached_property
    def _members(self) -> Members:
        return Members(self.tar, self.below)

    def names(self) -> list[str]:
        """See `CellFiles`."""
        return sorted(filter(_is_image, self._members.names()), key=lambda name: name.split("/"))

    def find(self, stem: str, endings: Sequence[str]) -> Stored | None:
        """See `CellFiles`."""
        members = (self._members.find(f"{stem}{ending}") for ending in endings)
        return next((member for member in members if member is not None), None)

    def check(self, files: int) -> None:
        """See `CellFiles`; reading a member notices a change."""

    def __str__(self) -> str:
        return f"{self.tar}/{self.below.rstrip('/')}"

    def __getstate__(self) -> dict[str, Any]:
        return {"tar": self.tar, "below": self.below}


class _Row(NamedTuple):
    """A row of an array, as `Stored` describes it: without loss, as a picture in BMP."""

    id: str
    images: ArrayFile
    row: int

    @property
    def size(self) -> int:
        """Bytes of its pixels."""
        return math.prod(self.images.shape[1:])

    def open(self) -> BinaryIO:
        """See `Stored`."""
        stream = io.BytesIO()
        Image.fromarray(self.images[self.row]).save(stream, "BMP")
        stream.seek(0)
        return stream

    def stamp(self) -> Stamp:
        """See `Stored`; the array's."""
        return Stamp.of(self.images.path.stat())

    def __str__(self) -> str:
        return f"{self.images.path} (row {self.row})"


class ArrayFiles:
    """One severity of CIFAR-10-C or -100-C: ``fog.npy`` has the test set five times over.

    An image's name is its position in the test set, its class the label in ``labels.npy``; so
    images in another order are not there, unless their class is the same by chance.

    Raises:
        UserError: arrays of another form.
    """

    def __init__(self, array: Path, severity: int) -> None:
        self._images, labels = ArrayFile(array), ArrayFile(array.with_name(LABELS))
        shape, rows = self._images.shape, len(self._images)
        fits = self._images.dtype == np.uint8 and len(shape) == 4 and shape[3:] == (3,)
        count, rest = divmod(rows, len(SEVERITIES))
        if not fits or shape[1] != shape[2] or rest or labels.shape not in ((rows,), (count,)):
            raise UserError(
                f"{array} holds {self._images.dtype} of shape {shape} with labels of shape "
                f"{labels.shape}; right are uint8 (5 x N, H, H, 3), the severities one after the "
                "other, and N or 5 x N labels"
            )
        self.side = int(shape[1])
        self._first = (severity - 1) * count
        self._labels = labels.whole[-count:].tolist()

    def names(self) -> list[str]:
        """See `CellFiles`."""
        names = (f"{label}/{row:06d}.bmp" for row, label in enumerate(self._labels))
        return sorted(names, key=lambda name: name.split("/"))

    def find(self, stem: str, endings: Sequence[str]) -> Stored | None:
        """See `CellFiles`."""
        label, _, name = stem.rpartition("/")
        row = int(name) if name.isdecimal() and len(name) == 6 else len(self._labels)
        if row >= len(self._labels) or str(self._labels[row]) != label:
            return None
        return _Row(stem, self._images, self._first + row)

    def check(self, files: int) -> None:
        """See `CellFiles`; reading a row notices a change."""

    def __str__(self) -> str:
        return str(self._images.path)


def find_files(root: Path, cell: Cell) -> tuple[CellFiles | None, Record | None]:
    """The files of a condition, and what the suite noted of them where it made them itself.

    Args:
        root: a folder with ``<corruption>/<severity>/<class>/*``, or the same below
            ``<category>/``; or with tar archives of these; or one such archive; or with the arrays
            of CIFAR-10-C. What is unpacked is taken before what is not.
        cell: corruption and severity.

    Raises:
        UserError: the condition is there twice, or an archive or a note is damaged.
    """
    record = read_record(root)
    array = root / f"{cell.corruption}.npy"
    if array.is_file() and array.with_name(LABELS).is_file():
        return ArrayFiles(array, cell.severity), None
    folder = find_folder(root, *cell) if root.is_dir() else None
    if folder is not None:
        return FolderFiles(folder), record
    for tar in _archives(root, cell):
        top = _top(tar)
        for category in ("", *(f"{name}/" for name in CATEGORIES)):
            files = TarFiles(tar, f"{top}{category}{cell.corruption}/{cell.severity}/")
            if files.names():
                note = read_member(tar, f"{top}{RECORD}")
                place = f"{tar}/{top}{RECORD}"
                return files, record if note is None else parse_record(note, place)
    return None, record


def _archives(root: Path, cell: Cell) -> list[Path]:
    """Those that may hold a condition: that of its category, else all."""
    archives = sorted(root.glob("*.tar")) if root.is_dir() else [root]
    category = next((name for name, names in CATEGORIES.items() if cell.corruption in names), "")
    named = [path for path in archives if path.stem.lower() == category]
    return named or archives


def _top(tar: Path) -> str:
    """The folders, with a slash, in which an archive holds everything."""
    known = set(GROUPS["all"]).union(CATEGORIES, *OTHER_SETS.values())
    for name in Members(tar).first():
        parts = name.split("/")
        depth = next((d for d, part in enumerate(parts) if part in known), None)
        if depth is not None:
            return "".join(f"{part}/" for part in parts[:depth])
    return ""
