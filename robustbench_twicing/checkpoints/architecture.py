"""What keys and shapes alone say of a network: which families are like it, and its sizes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ..models.build import build_model
from ..models.family import FAMILIES, Family, Seen, Shapes
from ..models.table import MODELS

LEAST_SHARE = 0.5
"""Of the keys of a file and of a family together: with fewer in common, the layout is unknown."""
FOREIGN = {
    "a FAN-Swin (relative_position_bias_table and channel attention)": (
        "relative_position_bias_table",
        r"\.mlp\.temperature|mlp_v",
    ),
    "a Swin (relative_position_bias_table)": ("relative_position_bias_table",),
}
"""Layouts that no family has, by patterns that some of their keys match."""
WORDS = {
    "embed_dim": "width",
    "patch_size": "patch size",
    "num_heads": "heads",
    "num_classes": "classes",
}
"""Sizes that are called otherwise in sentences."""


@dataclass(frozen=True)
class Anatomy:
    """A network as its state dict shows it.

    Attributes:
        title: what it is in words, with an article.
        families: those that have most keys in common with it: several where their files cannot be
            told apart, none for a layout of `FOREIGN`.
        sizes: see `Family.seen`.
    """

    title: str
    families: tuple[str, ...] = ()
    sizes: Seen = field(default_factory=dict)

    def architecture(self) -> Iterator[tuple[str, int]]:
        """What is seen of its sizes in words; not the numbers of classes and positions."""
        for name, size in self.sizes.items():
            if size is not None and name not in ("num_classes", "grid"):
                yield WORDS.get(name, name), size


def anatomy(state_dict: Mapping[str, Tensor]) -> Anatomy | None:
    """Look at a state dict without prefixes; None where no known layout is like it."""
    for title, patterns in FOREIGN.items():
        if all(any(re.search(pattern, key) for key in state_dict) for pattern in patterns):
            return Anatomy(title)
    shares = likeness(state_dict)
    families = tuple(name for name, share in shares.items() if share == max(shares.values()))
    if not families:
        return None
    shapes = shapes_of(state_dict)
    if len({FAMILIES[name].title for name in families}) > 1:
        families = tuple(name for name in families if _has_model(name, shapes)) or families
    family = FAMILIES[families[0]]
    return Anatomy(family.title, families, family.seen(shapes))


def _has_model(family: str, shapes: Shapes) -> bool:
    """Whether one of the family's models has exactly these keys and shapes."""
    models = [model for model in MODELS.values() if model.family == family]
    return any(shapes_of(meta_weights(family, model.sizes)) == shapes for model in models)


def likeness(state_dict: Mapping[str, Tensor]) -> dict[str, float]:
    """The families that a state dict is like, with the share of keys that they have in common.

    Keys that differ in block numbers alone count once, so that the depth plays no part.
    """
    have = grouped(state_dict).keys()
    shares = {}
    for name, family in FAMILIES.items():
        want = grouped(_one_block(family)).keys()
        shares[name] = len(have & want) / max(len(have | want), 1)
    return {name: share for name, share in shares.items() if share >= LEAST_SHARE}


def is_ambiguous(name: str) -> bool:
    """Whether a file leaves open which model of its sizes it is.

    Layers may be twicing, or another family has networks with the same keys and shapes.

    Args:
        name: of the family.
    """
    family = FAMILIES[name]
    return "layers" in family.size_names or any(
        _one_block(twin) == _one_block(family) != {}
        for twin in FAMILIES.values()
        if twin is not family
    )


@cache
def _one_block(family: Family) -> Shapes:
    """Keys and shapes of the family's first model, cut to one block; none without any model."""
    model = next((model for model in MODELS.values() if model.family == family.name), None)
    if model is None:
        return {}
    sizes = {**model.sizes, "depth": 1} if "depth" in model.sizes else model.sizes
    return shapes_of(meta_weights(family.name, sizes))


def meta_weights(family: str, sizes: Mapping[str, Any]) -> dict[str, Tensor]:
    """The state dict of a network on the meta device: shapes without memory."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        return dict(build_model(family, **sizes).state_dict())


def shapes_of(state_dict: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """Key -> shape."""
    return {key: tuple(tensor.shape) for key, tensor in state_dict.items()}


def grouped(keys: Iterable[str]) -> dict[str, list[str]]:
    """Keys that differ only in block numbers together, by ``blocks.*.lamb1``."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(re.sub(r"(?<=\.)\d+(?=\.)", "*", key), []).append(key)
    return groups
