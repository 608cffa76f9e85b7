"""Read a checkpoint, whatever holds it: a file, an index with shards, or a folder with one."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import UserError
from .contents import entries
from .pickle.torch_pickle import read_torch_legacy, refuse_pickle
from .pickle.torch_zip import read_torch_zip
from .safetensors_files import INDEX_NAMES, read_index, read_metadata, read_safetensors
from .state_dict import file_sha256

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
        hub = len(path.parts) == 2 and not path.is_absolute() and not path.parent.exists()
        hint = f", or --model hf:{path} for a repository of the Hugging Face hub" if hub else ""
        raise UserError(f"{path}: there is no such file; give the path of a checkpoint{hint}")
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


ENDINGS = (".pth", ".pt", ".tar", ".bin", ".safetensors", ".ckpt")
"""How checkpoints in a folder are told from other files; a file given by name may end anyhow."""
COMPANIONS = frozenset(
    ("training_args.bin", "optimizer.pt", "optimizer.bin", "scheduler.pt", "rng_state.pth")
)
"""What training scripts leave beside a checkpoint under a checkpoint's ending."""


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds, before anybody has looked for weights in it.

    Attributes:
        path: the file (or index) that was read.
        container: its format.
        content: whatever was saved: a state dict, or a dict around one. A safetensors file with
            metadata is a dict of these around ``state_dict``.
        sha256: hash of the file; of an index, over its own and its shards' hashes.
    """

    path: Path
    container: Container
    content: Any
    sha256: str


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint without running anything it says.

    Args:
        path: a file, an index of shards, or a folder with exactly one of these.

    Raises:
        UserError: what the file is instead, and what would be right.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        path = _only_checkpoint(path)
    container = identify(path)
    if container == "index":
        return _read_shards(path)
    content = _read(path, container)
    if container == "safetensors" and (metadata := read_metadata(path)):
        content = {**metadata, "state_dict": content}
    return Checkpoint(path, container, content, file_sha256(path))


def checkpoint_files(path: Path) -> list[Path]:
    """The files that `read_checkpoint` reads; errors as there, as far as nothing is read."""
    if path.is_dir():
        path = _only_checkpoint(path)
    shards = read_index(path) if identify(path) == "index" else ()
    return [path, *(path.parent / name for name in shards)]


def expand_checkpoints(path: str | Path) -> list[Path]:
    """The checkpoints that a path stands for.

    Args:
        path: a file, or a folder with any number of checkpoints directly in it.

    Returns:
        The file alone, or the folder's checkpoints sorted by name; an index stands for its shards.

    Raises:
        UserError: nothing there.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        identify(path)
        return [path]
    indexes = [path / name for name in INDEX_NAMES if (path / name).is_file()]
    shards = {path / name for index in indexes for name in read_index(index)}
    files = [
        file
        for file in path.iterdir()
        if file.suffix in ENDINGS
        and file.is_file()
        and file.name not in COMPANIONS
        and not file.name.startswith(".")
        and file not in shards
    ]
    if not files and not indexes:
        raise UserError(
            f"{path} is a folder without a checkpoint; wanted are files ending in "
            f"{', '.join(ENDINGS)}, or {INDEX_NAMES[0]} with its shards"
        )
    return sorted([*indexes, *files])


def _only_checkpoint(folder: Path) -> Path:
    files = expand_checkpoints(folder)
    if len(files) > 1:
        listed = ", ".join(file.name for file in files[:5]) + (", ..." if len(files) > 5 else "")
        raise UserError(
            f"{folder} is a folder with {len(files)} checkpoints ({listed}); name one of them"
        )
    return files[0]


def _read(path: Path, container: Container) -> Any:
    if container == "torch-zip":
        return read_torch_zip(path)
    if container == "torch-legacy":
        return read_torch_legacy(path)
    if container == "safetensors":
        return read_safetensors(path)
    return refuse_pickle(path)


def _read_shards(index: Path) -> Checkpoint:
    merged: dict[str, Any] = {}
    hashes = {index.name: file_sha256(index)}
    for name, keys in read_index(index).items():
        shard = index.parent / name
        container = identify(shard)
        if container == "index":
            raise UserError(f"{index} names the index {name} as a shard; shards hold tensors")
        content = dict(entries(_read(shard, container)))
        if set(content) != set(keys):
            odd = sorted(map(str, set(content) ^ set(keys)))[0]
            where = "lacks" if odd in keys else "also holds"
            raise UserError(f"{shard} {where} {odd}, unlike {index.name}; the shards do not fit it")
        merged |= content
        hashes[name] = file_sha256(shard)
    digest = hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()
    return Checkpoint(index, "index", merged, digest)
