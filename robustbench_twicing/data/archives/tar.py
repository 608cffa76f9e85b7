"""What tar archives hold, by the place of every member in the file; nothing is unpacked."""

import json
import os
import tarfile
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UserError
from ..dataset import Skipped
from ..folders.scanning import DANGLING, Listing, no_image_by_name, printable_name
from ..stored import read
from .index import remembered, stamp_now
from .names import common_root, is_hidden, is_rubbish, plain_member
from .tar_member import Tar, TarMember

ENDING = ".tar"
MOST_MEMBERS = 20_000_000
"""The largest archive of ImageNet-C has a million."""
AGAIN = "copy or download it again"
_BLOCK, _LARGE = 512, 2**20
_SCHEMA = pa.schema(
    [("name", pa.string()), ("offset", pa.int64()), ("size", pa.int64()), ("note", pa.string())]
)


class Contents(NamedTuple):
    """What tar archives hold.

    Attributes:
        listing: images, and what else there is.
        texts: other files beside images or below them by their id, among them labels.
        members: the listing's images.
    """

    listing: Listing
    texts: dict[str, TarMember]
    members: tuple[TarMember, ...]


def list_tar(path: Path, *, below: str = "") -> Contents:
    """The members of an archive.

    Args:
        path: the archive.
        below: the folder, with a slash, whose members alone are wanted; ids are relative to it.
            Without it, folders that hold all images are left out of ids (see `common_root`).

    Raises:
        UserError: damaged, cut short, or with names that lead elsewhere.
    """
    stamp = stamp_now(path)
    table = _table(path, below)
    rows = list(zip(*(table[name].to_pylist() for name in _SCHEMA.names), strict=True))
    files = [row for row in rows if not row[3]]
    images = [row[0] for row in files if not (is_hidden(row[0]) or no_image_by_name(row[0]))]
    tar = Tar(path, stamp, below or common_root(images))
    members = {
        name: TarMember(name.removeprefix(tar.root), tar, offset, size)
        for name, offset, size, _ in files
    }
    pictures = set(images)
    seen = [row[0] for row in rows if row[3] != "folder"]
    others = [
        Skipped(name.removeprefix(tar.root), note or no_image_by_name(name))
        for name, _, _, note in rows
        if name not in pictures and note != "folder" and not is_hidden(name)
    ]
    chosen = tuple(members[name] for name in images)
    listing = Listing(
        path,
        chosen,
        tuple(sorted(others)),
        _empty([row[0] for row in rows if row[3] == "folder"], images),
        tuple(sorted(name for name in seen if is_hidden(name))),
    )
    return Contents(
        listing,
        {
            member.id: member
            for name, member in members.items()
            if name not in pictures and name.startswith(tar.root)
        },
        chosen,
    )


def _table(path: Path, below: str) -> pa.Table:
    filters = [("name", ">=", below), ("name", "<", below[:-1] + "0")] if below else None
    return remembered(path, lambda: _index(path), filters)


class Members:
    """The files below a folder of an archive, held as columns: there may be millions of them.

    Args:
        path: the archive.
        below: the folder, with a slash; ids are relative to it.

    Raises:
        UserError: as `list_tar`.
    """

    def __init__(self, path: Path, below: str = "") -> None:
        self.tar = Tar(path, stamp_now(path), below)
        table = _table(path, below)
        table = table.filter(pc.equal(table["note"], "")).combine_chunks()
        self._names, self._offsets, self._sizes = (table[name] for name in _SCHEMA.names[:3])

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
        UserError: as `list_tar`, or not JSON.
    """
    filters = [("name", "==", name), ("note", "==", "")]
    rows = remembered(path, lambda: _index(path), filters).to_pylist()
    if not rows:
        return None
    member = TarMember(name, Tar(path, stamp_now(path)), rows[0]["offset"], rows[0]["size"])
    try:
        return json.loads(read(member))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{member} is not JSON ({error})") from error


def _empty(folders: Sequence[str], images: Sequence[str]) -> tuple[str, ...]:
    above = {str(parent) for name in images for parent in PurePosixPath(name).parents}
    return tuple(sorted(name for name in folders if name not in above and not is_hidden(name)))


class _Row(NamedTuple):
    name: str
    offset: int
    size: int
    note: str
    target: str = ""


def _index(path: Path) -> pa.Table:
    """Every member in order of its name: place, size, and why it is none that can be read."""
    by_name: dict[str, _Row] = {}
    for row in _members(path):
        if row.name in by_name and {row.note, by_name[row.name].note} != {"folder"}:
            raise UserError(f"{path} has {row.name!r} twice; pack it anew")
        by_name[row.name] = row
        if len(by_name) > MOST_MEMBERS:
            raise UserError(f"{path} has more than {MOST_MEMBERS:,} members; pack it in parts")
    rows = sorted(_resolved(row, by_name) for row in by_name.values())
    columns = zip(*rows, strict=True) if rows else [()] * 5
    arrays = [list(column) for column in columns][: len(_SCHEMA)]
    return pa.Table.from_arrays(
        [pa.array(array, field.type) for array, field in zip(arrays, _SCHEMA, strict=True)],
        schema=_SCHEMA,
    )


def _resolved(row: _Row, by_name: dict[str, _Row]) -> _Row:
    """A link to another member as that member's bytes; one that leads elsewhere is left out."""
    if not row.target:
        return row
    target = by_name.get(os.path.normpath(row.target))
    if target is None or target.note or target.target:
        return row._replace(note=DANGLING, target="")
    return row._replace(offset=target.offset, size=target.size, target="")


def _members(path: Path) -> Iterator[_Row]:
    size = path.stat().st_size
    try:
        with tarfile.open(path, "r:") as tar:
            before = -1
            while member := tar.next():
                tar.members = []  # type: ignore[attr-defined]  # a million would all be kept
                if tar.offset <= before or member.offset_data + member.size > size:
                    raise UserError(f"{path} is damaged or cut short at {member.name!r}; {AGAIN}")
                before = tar.offset
                row = _row(path, member)
                if row is not None:
                    yield row
            _check_end(path, tar.offset)
    except UserError:
        raise
    except Exception as error:  # tarfile raises anything on damaged bytes
        raise UserError(
            f"{path} is no tar archive, damaged or cut short ({error}); {AGAIN}"
        ) from error


def _check_end(path: Path, offset: int) -> None:
    """Whether blocks of zeros, with which every archive ends, are there, and nothing else."""
    with path.open("rb") as file:
        file.seek(offset)
        block = file.read(_BLOCK)
        if len(block) < _BLOCK:
            raise UserError(f"{path} has no end, as if cut short; {AGAIN}")
        while block:
            if block.count(0) < len(block):
                raise UserError(
                    f"{path} goes on after its end, as if archives had been put together by cat; "
                    "give them one by one, or pack it anew"
                )
            block = file.read(_LARGE)


def _row(path: Path, member: tarfile.TarInfo) -> _Row | None:
    name = plain_member(path, printable_name(member.name))
    if not name or is_rubbish(name):
        return None
    if member.isdir():
        return _Row(name, 0, 0, "folder")
    if member.issym() or member.islnk():
        above = PurePosixPath(name).parent if member.issym() else PurePosixPath()
        return _Row(name, 0, 0, "", str(above / member.linkname))
    note = "" if member.isreg() and not member.issparse() else "not a regular file"
    if not note and printable_name(member.name) != member.name:
        note = "its name is not valid UTF-8"
    return _Row(name, member.offset_data, member.size, note)
