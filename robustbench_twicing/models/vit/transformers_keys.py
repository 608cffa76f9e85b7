"""State dicts of transformers' ViT and DeiT, renamed to the keys of timm's and the papers' code."""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from ...errors import UserError

_OF = re.compile(r"(?:(?:vit|deit)\.)?(.+)\.(weight|bias)")
_TOKENS = {
    "embeddings.cls_token": "cls_token",
    "embeddings.distillation_token": "dist_token",
    "embeddings.position_embeddings": "pos_embed",
}
_OUTSIDE = {
    "embeddings.patch_embeddings.projection": "patch_embed.proj",
    "layernorm": "norm",
    "classifier": "head",
    "cls_classifier": "head",
    "distillation_classifier": "head_dist",
}
_BLOCK = re.compile(r"(?:encoder\.layer|layers)\.(\d+)\.(.+)")
_INSIDE = {
    "layernorm_before": "norm1",
    "layernorm_after": "norm2",
    "attention.output.dense": "attn.proj",
    "attention.o_proj": "attn.proj",
    "intermediate.dense": "mlp.fc1",
    "output.dense": "mlp.fc2",
    "mlp.fc1": "mlp.fc1",
    "mlp.fc2": "mlp.fc2",
}
"""In files, and as networks of transformers 5 have them."""
_PROJECTIONS = {
    f"attention.{name}": letter
    for letter, names in (
        ("q", ("attention.query", "q_proj")),
        ("k", ("attention.key", "k_proj")),
        ("v", ("attention.value", "v_proj")),
    )
    for name in names
}


_SAVED = [
    (
        re.compile(rf"(?<![\w.])((?:vit|deit)\.)layers\.(\d+)\.{network}\b"),
        rf"\1encoder.layer.\2.{file}",
    )
    for network, file in (
        ("attention.q_proj", "attention.attention.query"),
        ("attention.k_proj", "attention.attention.key"),
        ("attention.v_proj", "attention.attention.value"),
        ("attention.o_proj", "attention.output.dense"),
        ("mlp.fc1", "intermediate.dense"),
        ("mlp.fc2", "output.dense"),
        ("layernorm_before", "layernorm_before"),
        ("layernorm_after", "layernorm_after"),
    )
]


def is_transformers(state: Mapping[str, Tensor]) -> bool:
    """Whether the keys are those of transformers' ViT or DeiT."""
    return any(key.endswith("embeddings.patch_embeddings.projection.weight") for key in state)


def as_in_files(key: str) -> str:
    """The key that transformers saves for one of a network of transformers 5; others stay."""
    for network, file in _SAVED:
        key = network.sub(file, key)
    return key


def from_transformers(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename the keys, and join q, k and v of each block to ``attn.qkv``.

    Args:
        state: keys without prefixes like ``module.``; of transformers' ViT or DeiT, distilled or
            not.

    Returns:
        A new dict, in which what has no counterpart keeps its key: a projection without the two
        others, a pooler. Tensors are shared with ``state`` but for the joined ones.

    Raises:
        UserError: two keys of the same thing.
    """
    renamed: dict[str, Tensor] = {}
    joined: dict[str, dict[str, tuple[str, Tensor]]] = {}
    for key, tensor in state.items():
        name, letter = _renamed(key)
        if letter:
            joined.setdefault(name, {})[letter] = (key, tensor)
        elif name in renamed:
            raise UserError(f"checkpoint key {name!r} is there twice, by two of its names")
        else:
            renamed[name] = tensor
    for name, parts in joined.items():
        shapes = {tensor.shape[1:] for _, tensor in parts.values() if tensor.ndim}
        if len(parts) == 3 and len(shapes) == 1:
            renamed[name] = torch.cat([parts[letter][1] for letter in "qkv"])
        else:
            renamed |= dict(parts.values())
    return renamed


def _renamed(key: str) -> tuple[str, str]:
    """The key here, and which of q, k and v it is a part of."""
    for token, ours in _TOKENS.items():
        if key in (token, f"vit.{token}", f"deit.{token}"):
            return ours, ""
    named = _OF.fullmatch(key)
    if named is None:
        return key, ""
    of, ending = named.groups()
    if of in _OUTSIDE:
        return f"{_OUTSIDE[of]}.{ending}", ""
    block = _BLOCK.fullmatch(of)
    if block is None:
        return key, ""
    number, part = block.groups()
    if part in _PROJECTIONS:
        return f"blocks.{number}.attn.qkv.{ending}", _PROJECTIONS[part]
    return (f"blocks.{number}.{_INSIDE[part]}.{ending}" if part in _INSIDE else key), ""
