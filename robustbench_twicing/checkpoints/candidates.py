"""Which models of the table a state dict could belong to, judged by keys and shapes alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from ..models.build import build_model
from ..models.spec import ModelSpec
from ..models.table import MODELS
from .architecture import LAYOUT_NAMES, Anatomy, anatomy
from .differences import differences

SAME_KEYS = (
    "DeiT, NeuTRENO and Twicing checkpoints have the same keys and shapes, and so have FAN and "
    "FAN-Twicing: the file cannot tell them apart, nor which layers are twicing. The name says it."
)


@dataclass(frozen=True)
class Candidate:
    """A model that the weights fit.

    Attributes:
        name: of the table.
        family: of the table.
        reasons: what speaks for it.
        against: what would have to be changed: number of classes, position grid.
    """

    name: str
    family: str
    reasons: tuple[str, ...]
    against: tuple[str, ...]


def recognise(state_dict: Mapping[str, Tensor]) -> tuple[Candidate, ...]:
    """Models of the table that a state dict fits, those that need no change first.

    Args:
        state_dict: keys without prefixes, in today's layout.

    Returns:
        Nothing where the layout is unknown. DeiT, NeuTRENO and Twicing always appear together
        (see `SAME_KEYS`).
    """
    seen = anatomy(state_dict)
    if seen is None:
        return ()
    found = [_candidate(spec, state_dict, seen) for spec in MODELS.values() if _similar(spec, seen)]
    return tuple(sorted((each for each in found if each), key=lambda each: len(each.against)))


def _similar(spec: ModelSpec, seen: Anatomy) -> bool:
    """Cheap: whether building the model for a comparison is worth it."""
    width, depth = spec.sizes.get("embed_dim"), spec.sizes.get("depth")
    fan = seen.layout != "vit"
    return width == seen.embed_dim and depth == seen.depth and spec.family.startswith("fan") == fan


def _candidate(spec: ModelSpec, have: Mapping[str, Tensor], seen: Anatomy) -> Candidate | None:
    want = _shapes(spec.name)
    found = differences(have, want)
    movable = {"pos_embed", "head.weight", "head.bias", "head_dist.weight", "head_dist.bias"}
    if found.missing or found.unexpected or not set(found.shapes) <= movable:
        return None
    against = []
    if any(key.startswith("head") for key in found.shapes):
        against.append(f"{seen.classes} classes instead of {want['head.weight'].shape[0]}")
    if "pos_embed" in found.shapes:
        against.append(
            f"pos_embed of {have['pos_embed'].shape[1]} tokens "
            f"instead of {want['pos_embed'].shape[1]}"
        )
    return Candidate(spec.name, spec.family, tuple(_reasons(seen, len(want))), tuple(against))


@cache
def _shapes(name: str) -> dict[str, Tensor]:
    """A model's state dict on the meta device: shapes without memory."""
    spec = MODELS[name]
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        return dict(build_model(spec.family, **spec.sizes).state_dict())


def _reasons(seen: Anatomy, keys: int) -> Iterator[str]:
    yield f"all {keys} keys fit: {LAYOUT_NAMES[seen.layout]}"
    yield f"width {seen.embed_dim}, depth {seen.depth}"
    if seen.scaling == "featscale":
        yield "lamb1 and lamb2 in every block (FeatScale)"
    if seen.scaling == "attnscale":
        yield "attn.lamb in every block (AttnScale)"
    if seen.distilled:
        yield "dist_token and head_dist (distilled)"
