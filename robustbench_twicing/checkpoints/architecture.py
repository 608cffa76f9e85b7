"""What keys and shapes alone say of a network."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import Literal

from torch import Tensor

Layout = Literal["vit", "fan-vit", "fan-hybrid", "fan-swin", "swin"]

LAYOUT_NAMES: dict[Layout, str] = {
    "vit": "a DeiT-like ViT (fused attn.qkv)",
    "fan-vit": "a FAN-ViT (attn.q and attn.kv, cls_attn_blocks, convolutional stem)",
    "fan-hybrid": "a FAN-Hybrid (attn.q and attn.kv, ConvNeXt stem patch_embed.backbone)",
    "fan-swin": "a FAN-Swin (relative_position_bias_table and channel attention)",
    "swin": "a Swin (relative_position_bias_table)",
}
_STEM = re.compile(r"patch_embed\.proj\.\d+\.0\.weight")
_BLOCK = re.compile(r"blocks\.(\d+)\.")


@dataclass(frozen=True)
class Anatomy:
    """A network as its state dict shows it; None is what cannot be seen.

    Attributes:
        layout: the kind of blocks and stem.
        embed_dim: width of a token in the first block.
        depth: number of blocks.
        patch: side of a patch in pixels.
        heads: attention heads, which only AttnScale and FAN show.
        grid: rows and columns of the position embedding, where it is square.
        classes: number of logits.
        distilled: whether there is a distillation token and a head for it.
        scaling: ``featscale`` or ``attnscale`` where there are lamb vectors.
        squeeze_excite: FAN's variant with mlp.se.
    """

    layout: Layout
    embed_dim: int | None
    depth: int
    patch: int | None
    heads: int | None
    grid: int | None
    classes: int | None
    distilled: bool
    scaling: Literal["featscale", "attnscale"] | None
    squeeze_excite: bool


def anatomy(state_dict: Mapping[str, Tensor]) -> Anatomy | None:
    """Look at a state dict without prefixes; None where its layout is not one of `Layout`."""
    layout = _layout(state_dict)
    if layout is None:
        return None
    return Anatomy(
        layout=layout,
        embed_dim=_length(state_dict, "blocks.0.norm1.weight"),
        depth=1
        + max((int(found[1]) for found in map(_BLOCK.match, state_dict) if found), default=-1),
        patch=_patch(state_dict, layout),
        heads=_heads(state_dict),
        grid=_grid(state_dict),
        classes=_length(state_dict, "head.weight"),
        distilled="dist_token" in state_dict,
        scaling=_scaling(state_dict),
        squeeze_excite=any(".mlp.se." in key for key in state_dict),
    )


def _layout(state_dict: Mapping[str, Tensor]) -> Layout | None:
    def holds(part: str) -> bool:
        return any(part in key for key in state_dict)

    if holds("relative_position_bias_table"):
        return "fan-swin" if holds(".mlp.temperature") or holds("mlp_v") else "swin"
    if not any(_BLOCK.match(key) for key in state_dict):
        return None
    if holds(".attn.kv.") and holds("cls_attn_blocks."):
        return "fan-hybrid" if holds("patch_embed.backbone.") else "fan-vit"
    return "vit" if holds(".attn.qkv.") and "cls_token" in state_dict else None


def _length(state_dict: Mapping[str, Tensor], key: str, axis: int = 0) -> int | None:
    tensor = state_dict.get(key)
    return tensor.shape[axis] if tensor is not None and tensor.ndim else None


def _patch(state_dict: Mapping[str, Tensor], layout: Layout) -> int | None:
    if layout == "vit":
        return _length(state_dict, "patch_embed.proj.weight", axis=-1)
    if layout == "fan-vit":
        stem = [key for key in state_dict if _STEM.fullmatch(key)]
        return 1 << len(stem)
    return None


def _heads(state_dict: Mapping[str, Tensor]) -> int | None:
    for key in ("blocks.0.attn.lamb", "blocks.0.mlp.temperature"):
        if (heads := _length(state_dict, key)) is not None:
            return heads
    return None


def _grid(state_dict: Mapping[str, Tensor]) -> int | None:
    positions = state_dict.get("pos_embed")
    if positions is None or positions.ndim != 3:
        return None
    cells = positions.shape[1] - 1 - ("dist_token" in state_dict)
    return isqrt(cells) if cells > 0 and isqrt(cells) ** 2 == cells else None


def _scaling(state_dict: Mapping[str, Tensor]) -> Literal["featscale", "attnscale"] | None:
    if any(key.endswith((".lamb1", ".lamb2")) for key in state_dict):
        return "featscale"
    return "attnscale" if any(key.endswith(".attn.lamb") for key in state_dict) else None
