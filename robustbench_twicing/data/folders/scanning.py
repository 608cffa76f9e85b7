"""Walk a folder: images, what is skipped, what is beside the point; in an order of our own."""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import features

from ...errors import UserError
from ...files.printable import name_some
from ..dataset import Skipped
from ..stored import ImageFile, Stored

IMAGE_ENDINGS = frozenset(
    {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".ppm", ".pgm", ".bmp", ".gif", ".tif", ".tiff"}
    | {".webp", ".avif", ".jp2"}
)
"""Those of torchvision's ImageFolder and other common ones; upper and lower case are one."""
_OPTIONAL = {".avif": "avif", ".jp2": "jpg_2000", ".webp": "webp"}
"""What Pillow calls the libraries with which some builds of it read these, and others do not."""
DEEPEST = 50
"""Folders inside folders."""
MOST_LINKS = 20
"""Ways by which one folder is reached; links to links multiply."""
ADVICE = "point at the folder of the images"
_Place = tuple[int, int]
"""Device and inode."""
_BESIDE_THE_POINT = frozenset({"__MACOSX", "Thumbs.db", "desktop.ini", ".DS_Store"})
_TWIN_OF_MACOS = "._"
"""How macOS begins the names of files in which it keeps another file's attributes."""
DANGLING = "a link to a file that is not there"

_DOCUMENTS = frozenset(
    {".txt", ".md", ".csv", ".tsv", ".json", ".xml", ".yaml", ".yml", ".html", ".pdf", ".py"}
    | {".sh", ".log", ".npy", ".npz", ".mat", ".zip", ".tar", ".gz", ".tgz", ".db"}
)


@dataclass(frozen=True)
class Listing:
    """What lies below a folder; hidden files and folders are counted and left out.

    Attributes:
        root: the folder, as given.
        images: files with an image's ending, sorted by id.
        others: files that cannot be images, with the reason.
        empty: folders without any image below them, relative to the root.
        hidden: files and folders whose names begin with a dot, relative to the root.
    """

    root: Path
    images: tuple[Stored, ...]
    others: tuple[Skipped, ...]
    empty: tuple[str, ...]
    hidden: tuple[str, ...] = ()

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The other files, without texts and archives beside the class folders (README.txt)."""
        return tuple(item for item in self.others if not _is_document(item.id))


def scan(root: Path) -> Listing:
    """List everything below ``root``, following links.

    Raises:
        UserError: a folder cannot be read.
    """
    images: list[ImageFile] = []
    others: list[Skipped] = []
    folders: set[str] = set()
    hidden: list[str] = []
    for relative, entry in _walk(root, "", (), Counter()):
        if entry is None and relative.rpartition("/")[2].startswith("."):
            hidden.append(relative)
        elif entry is None:
            folders.add(relative)
        elif isinstance(entry, str):
            others.append(Skipped(relative, entry))
        else:
            images.append(ImageFile(relative, root, entry))
    for parent in {image.id.rpartition("/")[0] for image in images}:
        parents = parent.split("/")
        folders.difference_update("/".join(parents[: depth + 1]) for depth in range(len(parents)))
    images.sort()
    return Listing(
        root, tuple(images), tuple(sorted(others)), tuple(sorted(folders)), tuple(sorted(hidden))
    )


def check_has_images(listing: Listing) -> None:
    """Refuse a folder without images.

    Raises:
        UserError: naming what was seen instead.
    """
    if not listing.images:
        others = name_some(item.id for item in listing.others)
        seen = f"; seen: {others}" if listing.others else ""
        endings = ", ".join(sorted(IMAGE_ENDINGS))
        raise UserError(f"{listing.root} holds no images ({endings}){seen}; name their folder")


def _walk(
    root: Path, relative: str, above: tuple[_Place, ...], visits: Counter[_Place]
) -> Iterator[tuple[str, int | str | None]]:
    """Yield (path, byte size of an image | reason to leave a file out | None otherwise).

    None stands for a folder, and for anything hidden.
    """
    try:
        status = (root / relative).stat()
        entries = list(os.scandir(root / relative))
    except OSError as error:
        raise UserError(f"{root / relative} cannot be read: {error.strerror}") from error
    place = status.st_dev, status.st_ino
    if place in above:
        yield relative, "a link to one of the folders it lies in"
        return
    visits[place] += 1
    _check_end(root / relative, len(above), visits[place])
    if relative:
        yield relative, None
    for entry in entries:
        if is_beside_the_point(entry.name):
            continue
        name = f"{relative}/{entry.name}" if relative else entry.name
        if entry.name.startswith("."):
            yield printable_name(name), None
        elif entry.is_dir():
            yield from _walk(root, name, (*above, place), visits)
        else:
            yield printable_name(name), _file(entry)


def _check_end(folder: Path, depth: int, visits: int) -> None:
    """Refuse folders that seem to have no end."""
    if depth > DEEPEST:
        raise UserError(f"{folder} is more than {DEEPEST} folders deep; {ADVICE}")
    if visits > MOST_LINKS:
        raise UserError(f"{folder} is reached by more than {MOST_LINKS} links; {ADVICE}")


def _file(entry: os.DirEntry[str]) -> int | str:
    if entry.is_symlink() and not Path(entry.path).exists():
        return DANGLING
    if reason := no_image_by_name(entry.name):
        return reason
    try:
        facts = entry.stat()
    except FileNotFoundError:
        return "taken away while the folder was read"
    except OSError as error:
        raise UserError(f"{entry.path} cannot be read: {error.strerror}") from error
    return facts.st_size if stat.S_ISREG(facts.st_mode) else "not a regular file"


def no_image_by_name(name: str) -> str:
    """Why a file of this name is no image; empty where it may be one."""
    ending = os.path.splitext(name)[1].rstrip(".")  # noqa: PTH122 - a Path takes ten times as long
    if ending.lower() not in IMAGE_ENDINGS:
        return f"not an image by its ending ({ending})" if ending else "a name without an ending"
    library = _OPTIONAL.get(ending.lower())
    if library is not None and not features.check(library):
        return f"this Pillow cannot read {ending.lower()}"
    return "" if printable_name(name) == name else "its name is not valid UTF-8"


def is_beside_the_point(name: str) -> bool:
    """Whether it is what systems leave in folders, which is not worth a word."""
    return name.startswith(_TWIN_OF_MACOS) or name in _BESIDE_THE_POINT


def _is_document(name: str) -> bool:
    return "/" not in name and Path(name).suffix.lower() in _DOCUMENTS


def printable_name(name: str) -> str:
    """The name with bytes that are not UTF-8 written as escapes."""
    if name.isascii():
        return name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
