"""Files in the safetensors format, and folders that split a checkpoint over several files."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

from torch import Tensor

from ..errors import UserError

INDEX_NAMES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
LARGEST_INDEX = 64 * 2**20
"""Bytes; the largest published index is below one hundredth of this."""


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, memory-mapped.

    Raises:
        UserError: damaged or truncated, with what the format's own reader says.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, ValueError, KeyError) as error:
        raise UserError(
            f"{path} is truncated or damaged safetensors ({error}); copy or download it again"
        ) from error


def read_metadata(path: Path) -> dict[str, str]:
    """What a safetensors file says beside its tensors; empty where it only names a framework.

    Args:
        path: a file that `read_safetensors` can read.
    """
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
    return {key: text for key, text in sorted(metadata.items()) if key != "format"}


def read_index(path: Path) -> dict[str, tuple[str, ...]]:
    """Shard files and the keys that an index expects in each.

    Args:
        path: a JSON file with a ``weight_map`` from keys to file names.

    Returns:
        File name (relative to the index, inside its folder) to keys.

    Raises:
        UserError: not an index, or a shard outside its folder.
    """
    shards: dict[str, list[str]] = {}
    for key, name in _weight_map(path).items():
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or "\\" in name or not pure.parts:
            raise UserError(
                f"{path} sends {key} to {name!r}, which is outside its own folder; "
                "shards lie beside their index"
            )
        shards.setdefault(name, []).append(key)
    return {name: tuple(keys) for name, keys in shards.items()}


def _weight_map(path: Path) -> dict[str, str]:
    if path.stat().st_size > LARGEST_INDEX:
        raise UserError(f"{path} starts like JSON and is too large to be an index of shards")
    try:
        content: Any = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is text that starts like JSON and is not ({error}); give a checkpoint"
        ) from error
    weight_map = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(weight_map, dict) or not weight_map:
        keys = ", ".join(map(str, content)) if isinstance(content, dict) else "no keys"
        raise UserError(
            f"{path} is JSON without a weight_map (it has {keys:.200}); "
            f"give a checkpoint, or an index like {INDEX_NAMES[0]}"
        )
    if not all(isinstance(name, str) for name in weight_map.values()):
        raise UserError(f"{path}: its weight_map does not map keys to file names")
    return weight_map
