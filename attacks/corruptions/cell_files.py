"""The files of one condition: in a folder, or in a tar archive as ImageNet-C is downloaded."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from robustbench_twicing.data.archives.tar import Members, read_member
from robustbench_twicing.data.folders.scanning import IMAGE_ENDINGS
from robustbench_twicing.data.imagenet_c import CATEGORIES, GROUPS, OTHER_SETS, Cell
from robustbench_twicing.data.stored import ImageFile, Stored
from robustbench_twicing.errors import UnreadableError

from .layout import RECORD, find_folder, parse_record, read_record

Record = dict[str, Any]


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
        return None if path is None else ImageFile(path.name, path, 0)

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


def find_files(root: Path, cell: Cell) -> tuple[CellFiles | None, Record | None]:
    """The files of a condition, and what the suite noted of them where it made them itself.

    Args:
        root: a folder with ``<corruption>/<severity>/<class>/*``, or the same below
            ``<category>/``; or with tar archives of these; or one such archive. What is unpacked is
            taken before what is not.
        cell: corruption and severity.

    Raises:
        UserError: the condition is there twice, or an archive or a note is damaged.
    """
    record = read_record(root)
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
    known = {
        *GROUPS["all"],
        *CATEGORIES,
        *(name for names in OTHER_SETS.values() for name in names),
    }
    for name in Members(tar).first():
        parts = name.split("/")
        depth = next((d for d, part in enumerate(parts) if part in known), None)
        if depth is not None:
            return "".join(f"{part}/" for part in parts[:depth])
    return ""
