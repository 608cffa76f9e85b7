"""How a state dict differs from the one a network has, in one readable line."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

from .architecture import LAYOUT_NAMES, Anatomy

LONGEST_LIST = 3
"""Groups of keys that are written out; the rest is counted."""
_HEADS = ("head.weight", "head.bias", "head_dist.weight", "head_dist.bias")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Differences:
    """What stands in the way of strict loading.

    Attributes:
        missing: keys that the network has and the file lacks.
        unexpected: keys that the file has and the network lacks.
        shapes: key to the file's shape and the network's.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    shapes: dict[str, tuple[Shape, Shape]]

    @property
    def count(self) -> int:
        """Number of keys that stand in the way."""
        return len(self.missing) + len(self.unexpected) + len(self.shapes)

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        parts = []
        if self.missing:
            parts.append(f"missing {_listed(self.missing)}")
        if self.unexpected:
            parts.append(f"unexpected {_listed(self.unexpected)}")
        if self.shapes:
            (key, (have, want)), *rest = self.shapes.items()
            more = f" (and {len(rest)} more of another shape)" if rest else ""
            parts.append(f"{key} has shape {have} in the file and {want} in the network{more}")
        return "; ".join(parts)

    def classes(self) -> tuple[int, int] | None:
        """The file's and the network's number of classes, where nothing else differs."""
        if self.missing or self.unexpected or not self.shapes or not set(self.shapes) <= {*_HEADS}:
            return None
        if any(have[1:] != want[1:] for have, want in self.shapes.values()):
            return None
        counts = {(have[0], want[0]) for have, want in self.shapes.values()}
        heads = {key.split(".")[0] for key in self.shapes}
        whole = all(
            f"{head}.{part}" in self.shapes for head in heads for part in ("weight", "bias")
        )
        return counts.pop() if len(counts) == 1 and whole else None


def differences(have: Mapping[str, Tensor], want: Mapping[str, Tensor]) -> Differences:
    """Compare keys and shapes of a file's and a network's state dict."""
    return Differences(
        missing=tuple(key for key in want if key not in have),
        unexpected=tuple(key for key in have if key not in want),
        shapes={
            key: (tuple(have[key].shape), tuple(want[key].shape))
            for key in want
            if key in have and have[key].shape != want[key].shape
        },
    )


def explain(have: Anatomy | None, want: Anatomy | None) -> str:
    """What a file is and was not asked to be; empty where its keys do not tell."""
    if have is None or want is None:
        return ""
    if have.layout != want.layout:
        return f"the file is {LAYOUT_NAMES[have.layout]}, not {LAYOUT_NAMES[want.layout]}"
    return ", ".join(_reasons(have, want))


def _reasons(have: Anatomy, want: Anatomy) -> Iterator[str]:
    if have.scaling != want.scaling:
        yield f"the file {_SCALING[have.scaling]}, and the network {_SCALING[want.scaling]}"
    if have.distilled != want.distilled:
        yield (
            "the file is distilled (it has dist_token and head_dist) and the network is not"
            if have.distilled
            else "the file is not distilled (it has no dist_token and head_dist), the network is"
        )
    if have.squeeze_excite != want.squeeze_excite:
        where = "file" if have.squeeze_excite else "network"
        yield f"mlp.se (squeeze-excite) is in the {where} only"
    for what, mine, its in (
        ("width", have.embed_dim, want.embed_dim),
        ("depth", have.depth, want.depth),
        ("patch size", have.patch, want.patch),
        ("heads", have.heads, want.heads),
    ):
        if mine != its and mine is not None and its is not None:
            yield f"{what} is {mine} in the file and {its} in the network"


_SCALING = {
    "featscale": "has lamb1 and lamb2 (FeatScale)",
    "attnscale": "has attn.lamb (AttnScale)",
    None: "has no lamb",
}


def group_keys(keys: Iterable[str]) -> list[str]:
    """Keys that differ only in block numbers as one: ``blocks.*.lamb1 (12 keys)``."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(re.sub(r"(?<=\.)\d+(?=\.)", "*", key), []).append(key)
    return [
        f"{pattern} ({len(members)} keys)" if len(members) > 1 else members[0]
        for pattern, members in groups.items()
    ]


def _listed(keys: Iterable[str]) -> str:
    groups = group_keys(keys)
    more = f" and {len(groups) - LONGEST_LIST} more groups" if len(groups) > LONGEST_LIST else ""
    return ", ".join(groups[:LONGEST_LIST]) + more
