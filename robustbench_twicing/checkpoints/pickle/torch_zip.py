"""The zip format of torch.save (since torch 1.6)."""

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_CUR, BytesIO
from pathlib import Path
from typing import IO, Any
from zlib import crc32

from ...errors import UserError
from .torch_pickle import COPY_AGAIN, SAVE_AGAIN, check_share, load_surveyed, surveyed

_ENCRYPTED = 1
_LENGTHS = 26
"""Where a record's header says how long its name and its extra field are."""
_CHUNK = 1 << 20
_FAULTS_OF_AN_ARCHIVE = (
    zipfile.BadZipFile,
    NotImplementedError,
    EOFError,
    OverflowError,
    ValueError,
    struct.error,
)


def read_torch_zip(path: Path) -> Any:
    """The content of a file in torch.save's zip format, its tensors memory-mapped.

    Raises:
        UserError: truncated, damaged, not a checkpoint, TorchScript, or it mentions a foreign name.
    """
    with _archive(path) as archive, path.open("rb") as file:
        records = _records(path, archive)
        root = _root(path, records)
        pickled = surveyed(path, BytesIO(b"".join(_chunks(file, records[f"{root}/data.pkl"]))))
        for storage in pickled.storages.values():
            record = records.get(f"{root}/data/{storage.key}")
            declared = storage.itemsize * storage.numel
            if record is None or record.file_size != declared:
                held = "nothing" if record is None else f"{record.file_size} bytes"
                raise UserError(
                    f"{path} is damaged: storage {storage.key!r} is declared with "
                    f"{declared} bytes and the archive holds {held}; {COPY_AGAIN}"
                )
        check_share(path, pickled)
        _check_sums(path, file, list(records.values()))
    return load_surveyed(path, in_place=True)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except _FAULTS_OF_AN_ARCHIVE as error:
        raise UserError(
            f"{path} is truncated or damaged: it starts like a checkpoint but cannot be read as a "
            f"zip archive ({error}); {COPY_AGAIN}"
        ) from error


def _records(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The archive's directory, once nothing in it can grow on reading."""
    records = {record.filename: record for record in archive.infolist()}
    if len(records) != len(archive.infolist()):
        raise UserError(f"{path} is damaged: two entries of its archive have one name")
    if any(name.endswith("constants.pkl") or "/code/" in name for name in records):
        raise UserError(
            f"{path} is a TorchScript archive, which holds a program and would have to be run; "
            f"{SAVE_AGAIN}"
        )
    size = path.stat().st_size
    if any(not 0 <= record.header_offset < size for record in records.values()):
        raise zipfile.BadZipFile("an entry lies outside the file")
    total = sum(record.file_size for record in records.values())
    if total > size or not all(
        record.compress_type == zipfile.ZIP_STORED
        and record.file_size == record.compress_size
        and not record.flag_bits & _ENCRYPTED
        for record in records.values()
    ):
        raise UserError(
            f"{path} declares {total} bytes in an archive of {size}; torch.save does not compress, "
            "so it was packed again or is a zip bomb; unpack it, or save the checkpoint again"
        )
    return records


def _root(path: Path, records: dict[str, zipfile.ZipInfo]) -> str:
    names = list(records)
    root = names[0].split("/")[0] if names else ""
    if f"{root}/data.pkl" not in records or not all(name.startswith(f"{root}/") for name in names):
        listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise UserError(
            f"{path} is a zip archive but not a checkpoint: it holds {listed or 'nothing'} and "
            "no data.pkl as torch.save writes; unpack it, and give a checkpoint inside it"
        )
    return root


def _check_sums(path: Path, file: IO[bytes], records: list[zipfile.ZipInfo]) -> None:
    """Refuse a record whose checksum is wrong.

    torch can be told to write no true checksums; then all of them are wrong, which says nothing.
    """
    records = [record for record in records if record.file_size]
    wrong = [record.filename for record in records if _sum(file, record) != record.CRC]
    if wrong and len(wrong) < len(records):
        raise UserError(
            f"{path} is damaged: the checksum of {wrong[0]} is wrong"
            f"{f' (and {len(wrong) - 1} more)' if len(wrong) > 1 else ''}; {COPY_AGAIN}"
        )


def _sum(file: IO[bytes], record: zipfile.ZipInfo) -> int:
    total = 0
    for chunk in _chunks(file, record):
        total = crc32(chunk, total)
    return total


def _chunks(file: IO[bytes], record: zipfile.ZipInfo) -> Iterator[bytes]:
    """The bytes of a stored record, whatever its checksum says."""
    file.seek(record.header_offset + _LENGTHS)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(name + extra, SEEK_CUR)
    left = record.file_size
    while left:
        chunk = file.read(min(left, _CHUNK))
        if not chunk:
            raise zipfile.BadZipFile(f"{record.filename} ends behind the file")
        left -= len(chunk)
        yield chunk
