"""Names within archives: which are refused, what is an image, and what lies around it."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ...errors import UserError
from ..folders.class_folders import is_class_name
from ..folders.scanning import is_beside_the_point


def plain_member(archive: Path, name: str) -> str:
    """A member's name without ``./`` and doubled slashes.

    Nothing is unpacked; but names become ids, and ids become names of files where images are
    written (``corrupt``), so that those which lead elsewhere are refused.

    Raises:
        UserError: an absolute name, or one with ``..``.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        what = "an absolute name" if path.is_absolute() else "a name that leads out of it"
        raise UserError(
            f"{archive} has a member with {what}, {name!r}; pack it anew with plain names"
        )
    return "" if str(path) == "." else str(path)


def hidden_entry(name: str) -> str:
    """The name as far as a part of it begins with a dot, as folders count it; else empty."""
    parts = name.split("/")
    depth = next((depth for depth, part in enumerate(parts, 1) if part.startswith(".")), 0)
    return "/".join(parts[:depth])


def is_rubbish(name: str) -> bool:
    """Whether it is what systems add by themselves."""
    return any(is_beside_the_point(part) for part in name.split("/"))


def common_root(names: Iterable[str]) -> str:
    """The folders, with a slash, that hold all images and are not needed to tell their classes.

    They are what one would point at had the archive been unpacked: ``val/`` of
    ``val/n01440764/a.JPEG``. A folder that is a class, or the only one above the images, stays.
    """
    parents = [name.split("/")[:-1] for name in names]
    if not parents:
        return ""
    first, depth = parents[0], 0
    fewest = min(map(len, parents))
    while (
        depth + 1 < fewest
        and not is_class_name(first[depth])
        and all(parts[depth] == first[depth] for parts in parents)
    ):
        depth += 1
    return "".join(f"{part}/" for part in first[:depth])
