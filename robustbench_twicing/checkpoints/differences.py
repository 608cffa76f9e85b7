"""How a state dict differs from the one a network has, in one readable line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor

from .architecture import Anatomy, grouped

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
    if not set(have.families) & set(want.families):
        return f"the file is {have.title}, not {want.title}"
    wanted = dict(want.architecture())
    return ", ".join(
        f"{name} is {size} in the file and {wanted[name]} in the network"
        for name, size in have.architecture()
        if wanted.get(name, size) != size
    )


def group_keys(keys: Iterable[str]) -> list[str]:
    """Keys that differ only in block numbers as one: ``blocks.*.lamb1 (12 keys)``."""
    return [
        f"{pattern} ({len(members)} keys)" if len(members) > 1 else members[0]
        for pattern, members in grouped(keys).items()
    ]


def _listed(keys: Iterable[str]) -> str:
    groups = group_keys(keys)
    more = f" and {len(groups) - LONGEST_LIST} more groups" if len(groups) > LONGEST_LIST else ""
    return ", ".join(groups[:LONGEST_LIST]) + more
