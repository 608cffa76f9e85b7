"""Load weights into a network: strictly, and with everything said that was done to them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from ..errors import UserError
from ..files.printable import name_some
from ..models.vit.transformers_keys import is_transformers
from .architecture import anatomy
from .candidates import recognise
from .differences import differences, explain, prefix_before
from .layouts import in_our_keys
from .numbers import about_formats, check_unquantised, in_format


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


def resample_positions(positions: Tensor, grid: tuple[int, int], extra: int) -> Tensor:
    """Resample a learned position embedding as the DeiT papers' code does.

    Bicubic, ``align_corners=False``, without antialiasing (timm 1.0 antialiases instead); the rows
    of the class and distillation tokens are kept as they are.

    Args:
        positions: (1, extra + n * n, C), n * n patches in row-major order.
        grid: rows and columns wanted.
        extra: number of tokens before the patches.

    Returns:
        (1, extra + rows * columns, C), float32.

    Raises:
        UserError: the patches do not form a square.
    """
    cells = positions.shape[1] - extra
    side = isqrt(max(cells, 0))
    wanted = extra + grid[0] * grid[1]
    if cells < 1 or side * side != cells:
        raise UserError(
            f"pos_embed covers {positions.shape[1]} tokens and the network has {wanted}; "
            f"{max(cells, 0)} patches are no square grid, so it cannot be resampled"
        )
    head, patches = positions[:, :extra].float(), positions[:, extra:].float()
    image = patches.reshape(1, side, side, -1).permute(0, 3, 1, 2)
    image = interpolate(image, size=grid, mode="bicubic", align_corners=False, antialias=False)
    return torch.cat([head, image.permute(0, 2, 3, 1).flatten(1, 2)], dim=1)


class OtherClassesError(UserError):
    """A file's network has another number of classes.

    Attributes:
        have: classes of the file.
        want: of the network that is to have its weights.
    """

    def __init__(self, message: str, *, have: int, want: int) -> None:
        super().__init__(message)
        self.have, self.want = have, want


MANY = 16
"""Differences of so many keys are not listed where one sentence says what the file is."""


@dataclass(frozen=True)
class Loaded:
    """What strict loading did.

    Attributes:
        sha256: hash of the weights that the network now has.
        notes: sentences a reader must know.
    """

    sha256: str
    notes: tuple[str, ...]


def load_into(
    network: nn.Module,
    state_dict: Mapping[str, Tensor],
    *,
    source: str,
    asked: str,
    taken_off: str = "",
) -> Loaded:
    """Give a network a file's weights, all of them and nothing else.

    Args:
        network: receives the weights; its own dtype and device stay.
        state_dict: keys without prefixes.
        source: what errors call the file.
        asked: the name of the model, for errors.
        taken_off: a prefix that the file has before these keys, for errors.

    Raises:
        OtherClassesError: another number of classes, and nothing else.
        UserError: a key missing, left over or of another shape; not a plain tensor of numbers;
            values that are not finite.
    """
    want = network.state_dict()
    counters = {key for key, tensor in want.items() if not tensor.is_floating_point()}
    check_unquantised({k: v for k, v in state_dict.items() if k not in counters}, source)
    try:
        adapted, notes = adapt(state_dict, network)
    except UserError as error:
        raise UserError(f"{source} does not fit {asked}: {error}") from None
    unlike = differences(adapted, want)
    if (classes := unlike.classes()) is not None:
        of_file, of_network = classes
        raise OtherClassesError(
            f"{source} has {of_file} classes (head.weight) and {asked} was built for {of_network}; "
            f"--num-classes {of_file} fits the file, if the data's labels do too",
            have=of_file,
            want=of_network,
        )
    if unlike:
        raise UserError(f"{source} does not fit {asked}: {_reasons(adapted, want, taken_off)}")
    ready = {key: in_format(key, adapted[key], want[key].dtype, source) for key in want}
    network.load_state_dict(ready, strict=True)
    return Loaded(weights_sha256(ready), (*notes, *about_formats(adapted)))


def _reasons(have: Mapping[str, Tensor], want: Mapping[str, Tensor], taken_off: str) -> str:
    parts = []
    if prefix := prefix_before(want, have):
        have = {key.removeprefix(prefix): tensor for key, tensor in have.items()}
        parts.append(f"the network's keys are behind the prefix {taken_off + prefix!r} in it")
    unlike = differences(have, want)
    reason = explain(anatomy(have), anatomy(want))
    parts.append(reason)
    parts.append(unlike.head if reason and unlike.count > MANY else str(unlike))
    if prefix and not unlike:
        parts.append("take it off the keys and save the file again, if it stands for nothing")
    if names := [candidate.name for candidate in recognise(have)]:
        parts.append(f"it fits {name_some(names)}")
    return "; ".join(filter(None, parts))


def adapt(
    state_dict: Mapping[str, Tensor], network: nn.Module
) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Bring other key layouts and another position grid to what the network has.

    Returns:
        The state dict and sentences on what was changed.
    """
    expected = network.state_dict()
    same = is_transformers(expected)
    adapted, renamed = (dict(state_dict), ()) if same else in_our_keys(state_dict)
    notes = [*renamed]
    have, want = adapted.get("pos_embed"), expected.get("pos_embed")
    grid: Any = getattr(getattr(network, "patch_embed", None), "grid_size", None)
    if have is not None and want is not None and grid is not None and _other_grid(have, want):
        extra = want.shape[1] - grid[0] * grid[1]
        if extra >= 0 and ("dist_token" in adapted) == (extra > 1):
            adapted["pos_embed"] = resample_positions(have, grid, extra)
            notes.append(
                f"The position embedding was resampled from {have.shape[1]} to {want.shape[1]} "
                f"tokens, to a grid of {grid[0]} x {grid[1]} patches (bicubic, without antialias, "
                "as the DeiT repository does and timm 1.0 does not)."
            )
    return adapted, tuple(notes)


def _other_grid(have: Tensor, want: Tensor) -> bool:
    return (
        have.ndim == want.ndim == 3
        and have.shape[0] == want.shape[0] == 1
        and have.shape[2] == want.shape[2]
        and have.shape[1] != want.shape[1]
    )
