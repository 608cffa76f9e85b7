"""The format of torch.save before the zip files: pickles, then the storages one by one."""

from pathlib import Path
from typing import IO, Any

from ..errors import UserError
from .extents import Storage
from .torch_pickle import COPY_AGAIN, check_share, load_surveyed, mapped, surveyed

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


def read_torch_legacy(path: Path) -> Any:
    """The content of a file that torch.save wrote as a pickle stream (before torch 1.6).

    Raises:
        UserError: truncated, damaged, or it mentions a foreign name.
    """
    with mapped(path) as file:
        for expected in (_MAGIC, _PROTOCOL):
            if surveyed(path, file).result != expected:
                raise UserError(f"{path} is damaged: its first numbers are not torch.save's")
        surveyed(path, file)
        found = surveyed(path, file)
        keys = surveyed(path, file).result
        if not isinstance(keys, list) or sorted(map(repr, keys)) != sorted(
            map(repr, found.storages)
        ):
            raise UserError(f"{path} is damaged: it does not list the storages that it uses")
        _check_payload(path, file, [found.storages[key] for key in keys])
    check_share(path, found)
    return load_surveyed(path, in_place=False)


def _check_payload(path: Path, file: IO[bytes], storages: list[Storage]) -> None:
    """Walk over the storages behind the pickles: 8 bytes of count, then the elements, each."""
    size = path.stat().st_size
    for storage in storages:
        count = int.from_bytes(file.read(8), "little")
        end = file.tell() + storage.itemsize * storage.numel
        if end > size:
            raise UserError(
                f"{path} is truncated: storage {storage.key!r} ends at byte {end} and the file has "
                f"{size}; {COPY_AGAIN}"
            )
        if count != storage.numel:
            raise UserError(
                f"{path} is damaged: storage {storage.key!r} is declared with {storage.numel} "
                f"elements and has {count}; {COPY_AGAIN}"
            )
        file.seek(end)
