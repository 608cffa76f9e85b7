"""Read a checkpoint, whatever holds it: a file, an index with shards, or a folder with one."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UserError
from .finding import entries
from .hashing import file_sha256
from .identify import Container, identify
from .safetensors_files import INDEX_NAMES, read_index, read_metadata, read_safetensors
from .torch_legacy import read_torch_legacy
from .torch_pickle import refuse_pickle
from .torch_zip import read_torch_zip

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
        path = _only_one(path)
    container = identify(path)
    if container == "index":
        return _read_shards(path)
    content = _read(path, container)
    if container == "safetensors" and (told := read_metadata(path)):
        content = {**told, "state_dict": content}
    return Checkpoint(path, container, content, file_sha256(path))


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


def _only_one(folder: Path) -> Path:
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
        found = set(content)
        if found != set(keys):
            odd = sorted(map(str, found ^ set(keys)))[0]
            where = "lacks" if odd in keys else "also holds"
            raise UserError(f"{shard} {where} {odd}, unlike {index.name}; the shards do not fit it")
        merged |= content
        hashes[name] = file_sha256(shard)
    digest = hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()
    return Checkpoint(index, "index", merged, digest)
