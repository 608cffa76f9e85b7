"""What tar archives hold, by the place of every member in the file; nothing is unpacked."""

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import UserError
from ..dataset import Skipped
from ..folders.scanning import Listing, no_image_by_name
from ..stored import read
from .index import remembered, stamp_now
from .names import common_root, hidden_entry
from .tar_headers import COLUMNS, FOLDER, read_headers
from .tar_member import Tar, TarMember

if TYPE_CHECKING:
    import pyarrow as pa


class Contents(NamedTuple):
    """What a tar archive holds.

    Attributes:
        listing: images, and what else there is.
        texts: other files beside images or below them by their id, among them labels.
        members: the listing's images.
    """

    listing: Listing
    texts: dict[str, TarMember]
    members: tuple[TarMember, ...]


class _Rows(NamedTuple):
    """The members of an archive as (name, offset, size, note), and which of them are images."""

    tar: Tar
    every: list[tuple[str, int, int, str]]
    images: list[str]


def list_each(paths: Sequence[Path]) -> list[Contents]:
    """The members of archives that make one data set.

    Ids leave out the folders that hold all images of all archives (see `common_root`): they are
    what they would be had the archives been unpacked into one folder.

    Raises:
        UserError: an archive that is damaged, cut short, or has names that lead elsewhere.
    """
    every = [_rows(path) for path in paths]
    root = common_root(name for rows in every for name in rows.images)
    return [_contents(rows, root) for rows in every]


def _rows(path: Path) -> _Rows:
    tar, table = Tar(path, stamp_now(path)), _table(path)
    every = list(zip(*(table[name].to_pylist() for name in COLUMNS), strict=True))
    files = [name for name, *_, note in every if not note]
    images = [name for name in files if not (hidden_entry(name) or no_image_by_name(name))]
    return _Rows(tar, every, images)


def _contents(rows: _Rows, root: str) -> Contents:
    tar = replace(rows.tar, root=root)
    members = {
        name: TarMember(name.removeprefix(root), tar, offset, size)
        for name, offset, size, note in rows.every
        if not note
    }
    pictures = set(rows.images)
    others = [
        Skipped(name.removeprefix(root), note or no_image_by_name(name))
        for name, _, _, note in rows.every
        if name not in pictures and note != FOLDER and not hidden_entry(name)
    ]
    folders = [name for name, *_, note in rows.every if note == FOLDER and not hidden_entry(name)]
    hidden = {entry for name, *_ in rows.every if (entry := hidden_entry(name))}
    chosen = tuple(members[name] for name in rows.images)
    listing = Listing(
        tar.path,
        chosen,
        tuple(sorted(others)),
        tuple(name.removeprefix(root) for name in _empty(folders, rows.images)),
        tuple(sorted(name.removeprefix(root) for name in hidden)),
    )
    return Contents(
        listing,
        {
            member.id: member
            for name, member in members.items()
            if name not in pictures and name.startswith(root)
        },
        chosen,
    )


def _table(path: Path, below: str = "") -> "pa.Table":
    filters = [("name", ">=", below), ("name", "<", below[:-1] + "0")] if below else None
    return remembered(path, lambda: read_headers(path), filters)


class Members:
    """The files below a folder of an archive, held as columns: there may be millions of them.

    Args:
        path: the archive.
        below: the folder, with a slash; ids are relative to it.

    Raises:
        UserError: as `list_each`.
    """

    def __init__(self, path: Path, below: str = "") -> None:
        import pyarrow.compute as pc

        self.tar = Tar(path, stamp_now(path), below)
        table = _table(path, below)
        table = table.filter(pc.equal(table["note"], "")).combine_chunks()
        self._names, self._offsets, self._sizes = (table[name] for name in list(COLUMNS)[:3])

    def names(self) -> list[str]:
        """Ids of all of them, sorted."""
        start = len(self.tar.root)
        return [name[start:] for name in self._names.to_pylist()]

    def first(self, most: int = 1000) -> list[str]:
        """Ids of the first of them."""
        return [name.as_py() for name in self._names[:most]]

    def find(self, member: str) -> TarMember | None:
        """The file of that id; None where there is none."""
        name = f"{self.tar.root}{member}"
        at = bisect_left(range(len(self._names)), name, key=lambda row: self._names[row].as_py())
        if at == len(self._names) or self._names[at].as_py() != name:
            return None
        return TarMember(member, self.tar, self._offsets[at].as_py(), self._sizes[at].as_py())


def read_member(path: Path, name: str) -> Any:
    """A JSON file of an archive; None where it has none of that name.

    Raises:
        UserError: as `list_each`, or not JSON.
    """
    filters = [("name", "==", name), ("note", "==", "")]
    rows = remembered(path, lambda: read_headers(path), filters).to_pylist()
    if not rows:
        return None
    member = TarMember(name, Tar(path, stamp_now(path)), rows[0]["offset"], rows[0]["size"])
    try:
        return json.loads(read(member))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{member} is not JSON ({error})") from error


def _empty(folders: Sequence[str], images: Sequence[str]) -> tuple[str, ...]:
    above = {str(parent) for name in images for parent in PurePosixPath(name).parents}
    return tuple(sorted(name for name in folders if name not in above))
