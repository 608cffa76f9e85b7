"""The headers of a tar archive, read one after the other, as a table of its members."""

import os
import tarfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UserError
from ..folders.scanning import DANGLING, printable_name
from .finding import check_not_compressed
from .names import is_rubbish, plain_member

if TYPE_CHECKING:  # pyarrow is loaded where an archive is read: lists of names do without
    import pyarrow as pa

COLUMNS = {"name": "string", "offset": "int64", "size": "int64", "note": "string"}
"""Of the table, with Arrow's types; a note says why a member is none that can be read."""
FOLDER = "folder"
"""Note of a member that is one."""
LINKED_FOLDER = "a link to a folder, which is followed on disk and not in an archive"
MOST_LINKS = 40
"""Of which one leads to the next; as many as Linux follows."""
MOST_MEMBERS = 20_000_000
"""The largest archive of ImageNet-C has a million."""
AGAIN = "copy or download it again"
_BLOCK, _LARGE = 512, 2**20


class _Row(NamedTuple):
    name: str
    offset: int
    size: int
    note: str
    target: str = ""


def read_headers(path: Path) -> "pa.Table":
    """Every member in order of its name: place, size, and why it is none that can be read.

    Raises:
        UserError: damaged, cut short, a name twice, or names that lead elsewhere.
    """
    import pyarrow as pa

    by_name: dict[str, _Row] = {}
    for row in _members(path):
        if row.name in by_name and {row.note, by_name[row.name].note} != {FOLDER}:
            raise UserError(f"{path} has {row.name!r} twice; pack it anew")
        by_name[row.name] = row
        if len(by_name) > MOST_MEMBERS:
            raise UserError(f"{path} has more than {MOST_MEMBERS:,} members; pack it in parts")
    folders = set[str]()
    if any(row.target for row in by_name.values()):
        folders = {str(above) for name in by_name for above in PurePosixPath(name).parents}
    rows = sorted(_resolved(row, by_name, folders) for row in by_name.values())
    return pa.table(
        {
            name: pa.array([row[place] for row in rows], kind)
            for place, (name, kind) in enumerate(COLUMNS.items())
        }
    )


def _resolved(row: _Row, by_name: Mapping[str, _Row], folders: Collection[str]) -> _Row:
    """A link to another member as that member's bytes; one that leads elsewhere is left out."""
    seen, name = row, ""
    for _ in range(MOST_LINKS):
        if not seen.target:
            break
        name = os.path.normpath(seen.target)
        seen = by_name.get(name, _Row(name, 0, 0, FOLDER if name in folders else DANGLING))
    note = DANGLING if seen.target else seen.note
    if note == FOLDER and seen is not row:
        note = LINKED_FOLDER
    return row._replace(offset=seen.offset, size=seen.size, note=note, target="")


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
        check_not_compressed(path)
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
        return _Row(name, 0, 0, FOLDER)
    if member.issym() or member.islnk():
        above = PurePosixPath(name).parent if member.issym() else PurePosixPath()
        return _Row(name, 0, 0, "", str(above / member.linkname))
    note = "" if member.isreg() and not member.issparse() else "not a regular file"
    if not note and printable_name(member.name) != member.name:
        note = "its name is not valid UTF-8"
    return _Row(name, member.offset_data, member.size, note)
