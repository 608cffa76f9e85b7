"""What a file is, decided by its content and never by its ending."""

from pathlib import Path
from typing import Literal

from ..errors import UserError

Container = Literal["torch-zip", "torch-legacy", "pickle", "safetensors", "index"]

RIGHT = (
    "a checkpoint is what torch.save or safetensors wrote from a state dict "
    "(.pth, .pt, .pth.tar, .bin, .safetensors)"
)
LEGACY_MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""torch.save's magic number before the zip format, as a pickled long."""
LARGEST_HEADER = 100_000_000
"""Bytes of JSON that the safetensors format allows before the tensors."""
_HEAD = 1024
_FOREIGN = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"(\xb5/\xfd", "a zstd archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"%PDF", "a PDF document"),
)


def identify(path: Path) -> Container:
    """The container of a checkpoint file.

    Args:
        path: a file.

    Returns:
        ``pickle`` stands for anything that only a pickle reader can tell; the others are certain.

    Raises:
        UserError: missing, a directory, empty, a Git LFS pointer, a web page, or another format.
    """
    if path.is_dir():
        raise UserError(f"{path} is a directory, not a checkpoint file")
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; give the path of a checkpoint")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    size = path.stat().st_size
    if not head:
        raise UserError(f"{path} is empty (0 bytes); copy or download it again")
    if head.startswith(b"PK\x03\x04"):
        return "torch-zip"
    if LEGACY_MAGIC in head[:32]:
        return "torch-legacy"
    _refuse_text(path, head)
    _refuse_formats(path, head)
    if head[8:9] == b"{":
        return _safetensors(path, int.from_bytes(head[:8], "little"), size)
    if head.startswith(b"{"):
        return "index"
    return "pickle"


def _refuse_text(path: Path, head: bytes) -> None:
    if head.startswith(b"version https://git-lfs"):
        raise UserError(
            f"{path} is a Git LFS pointer, not the file it stands for; run 'git lfs pull' there"
        )
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raise UserError(
            f"{path} is a web page (HTML or XML), probably an error page saved by a download; "
            "download the checkpoint again"
        )


def _refuse_formats(path: Path, head: bytes) -> None:
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            raise UserError(f"{path} is {what}, not a checkpoint; {RIGHT}")
    if head[257:262] == b"ustar":
        raise UserError(f"{path} is a tar archive; unpack it and give a checkpoint inside it")


def _safetensors(path: Path, header: int, size: int) -> Container:
    if header > LARGEST_HEADER:
        raise UserError(
            f"{path} looks like safetensors but declares a header of {header} bytes, "
            f"and the format allows {LARGEST_HEADER}; the file is damaged"
        )
    if 8 + header > size:
        raise UserError(
            f"{path} is truncated: its safetensors header alone needs {8 + header} bytes "
            f"and the file has {size}; copy or download it again"
        )
    return "safetensors"
