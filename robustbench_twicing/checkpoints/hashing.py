"""Hashes of files and of weights."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def weights_sha256(state_dict: Mapping[str, Tensor]) -> str:
    """SHA-256 of weights: the same for any container, wrapper, prefix, key order and precision.

    Floating-point tensors count as float32, which is what is evaluated, so a float16 file and its
    float32 copy agree.
    """
    digest = hashlib.sha256()
    for key in sorted(state_dict):
        tensor = state_dict[key].detach()
        if tensor.is_floating_point():
            tensor = tensor.to(torch.float32)
        tensor = tensor.cpu().contiguous()
        head = json.dumps([key, str(tensor.dtype), list(tensor.shape)])
        digest.update(head.encode() + b"\n")
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
