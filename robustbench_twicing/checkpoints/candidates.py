"""Which models of the table a state dict could belong to, judged by keys and shapes alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from torch import Tensor

from ..models.family import FAMILIES
from ..models.spec import ModelSpec
from ..models.table import MODELS
from .architecture import Anatomy, anatomy, likeness, meta_weights, shapes_of
from .differences import differences

MOVABLE = {"pos_embed", "head.weight", "head.bias", "head_dist.weight", "head_dist.bias"}
"""Keys whose shapes follow the number of classes and the input size."""


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
        Nothing where the layout is unknown. DeiT, NeuTRENO and Twicing always appear together.
    """
    seen = anatomy(state_dict)
    if seen is None:
        return ()
    families = likeness(state_dict)
    candidates = [
        _candidate(spec, state_dict, seen)
        for spec in MODELS.values()
        if spec.family in families and _may_fit(spec, state_dict)
    ]
    return tuple(sorted(filter(None, candidates), key=lambda candidate: len(candidate.against)))


def same_keys(candidates: Sequence[Candidate]) -> str:
    """A sentence on those that a file does not tell apart; empty where one fits best."""
    best = [candidate for candidate in candidates if candidate.against == candidates[0].against]
    if len(best) < 2:
        return ""
    families = list(dict.fromkeys(candidate.family for candidate in best))
    layers = any("layers" in FAMILIES[family].size_names for family in families)
    return (
        f"Checkpoints of the {'families' if len(families) > 1 else 'family'} {', '.join(families)} "
        "have the same keys and shapes: the file cannot tell them apart"
        f"{', nor which layers are twicing' if layers else ''}. The name says it."
    )


def _may_fit(spec: ModelSpec, have: Mapping[str, Tensor]) -> bool:
    """Cheap: whether building the model for a comparison is worth it."""
    seen = FAMILIES[spec.family].seen(shapes_of(have))
    asked = {name: spec.sizes.get(name) for name in seen if name != "num_classes"}
    return all(seen[name] in (None, size) for name, size in asked.items() if isinstance(size, int))


def _candidate(spec: ModelSpec, have: Mapping[str, Tensor], seen: Anatomy) -> Candidate | None:
    want = _weights(spec.name)
    unlike = differences(have, want)
    if unlike.missing or unlike.unexpected or not set(unlike.shapes) <= MOVABLE:
        return None
    against = []
    if "head.weight" in unlike.shapes:
        classes, asked = (weights["head.weight"].shape[0] for weights in (have, want))
        against.append(f"{classes} classes instead of {asked}")
    if "pos_embed" in unlike.shapes:
        against.append(
            f"pos_embed of {have['pos_embed'].shape[1]} tokens "
            f"instead of {want['pos_embed'].shape[1]}"
        )
    reasons = [f"all {len(want)} keys fit: {seen.title}"]
    if sizes := [f"{name} {size}" for name, size in seen.architecture()]:
        reasons.append(", ".join(sizes))
    return Candidate(spec.name, spec.family, tuple(reasons), tuple(against))


@cache
def _weights(name: str) -> dict[str, Tensor]:
    return meta_weights(MODELS[name].family, MODELS[name].sizes)
