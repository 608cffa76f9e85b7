"""State dicts of early FAN checkpoints, renamed to the keys of the released ones."""

import re
from collections.abc import Mapping

from torch import Tensor

from ...errors import UserError

_FUSED = re.compile(r"(cls_attn_blocks\.\d+\.attn\.)qkv(\.weight|\.bias)")


def modernise(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename ``pos_embeder.`` to ``pos_embed.`` and split fused qkv of the class attention.

    Args:
        state: keys without prefixes like ``module.``; one that is modern already, or not a FAN's,
            comes back as it is.

    Returns:
        A new dict; tensors are shared with ``state`` (the split ones are views).

    Raises:
        UserError: an old and a modern key of the same thing, or a fused tensor that is no q, k, v.
    """
    modern: dict[str, Tensor] = {}
    for old, tensor in state.items():
        for key, part in _renamed(old, tensor).items():
            if key in modern:
                raise UserError(f"checkpoint key {key!r} is there twice, by an old and a new name")
            modern[key] = part
    return modern


def _renamed(key: str, tensor: Tensor) -> dict[str, Tensor]:
    if key.startswith("pos_embeder."):
        return {key.replace("pos_embeder.", "pos_embed.", 1): tensor}
    fused = _FUSED.fullmatch(key)
    if fused is None:
        return {key: tensor}
    if tensor.ndim == 0 or len(tensor) % 3:
        raise UserError(f"checkpoint key {key!r} of shape {tuple(tensor.shape)} is no q, k and v")
    parts = zip("qkv", tensor.chunk(3), strict=True)
    return {f"{fused[1]}{letter}{fused[2]}": part for letter, part in parts}
