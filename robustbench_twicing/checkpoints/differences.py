"""How a state dict differs from the one a network has, in one readable line."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor

from .architecture import Anatomy, grouped

LONGEST_LIST = 3
"""Groups of keys that are written out; the rest is counted."""
_HEADS = ("head.weight", "head.bias", "head_dist.weight", "head_dist.bias")
_CLASSIFIER = re.compile(r"(head|fc|classifier)[^.]*\.")
"""How keys of the layer begin that gives logits, here and in timm."""
DEEPEST_PREFIX = 6
"""Parts of a prefix that is looked for: a file's keys may be of any length."""
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

    @property
    def head(self) -> str:
        """That the file has no classifier, if so: a backbone saved without it."""
        missing = [key for key in self.missing if _CLASSIFIER.match(key)]
        return f"missing {_listed(missing)}" if missing else ""

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


def prefix_before(want: Collection[str], have: Collection[str]) -> str:
    """What stands before most of a network's keys in a file, where more of them are found so.

    Args:
        want: the network's keys.
        have: the file's, some of which may have no prefix.

    Returns:
        Like ``backbone.``; empty where there is none.
    """
    behind: Counter[str] = Counter()
    for key in have:
        parts = key.split(".", DEEPEST_PREFIX)
        behind.update(
            prefix
            for end in range(1, len(parts))
            if key.removeprefix(prefix := ".".join(parts[:end]) + ".") in want
        )
    prefix, number = behind.most_common(1)[0] if behind else ("", 0)
    return prefix if number > len(want) / 2 and number > sum(key in want for key in have) else ""


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
    # A missing classifier says the most of a file, and stands last in a network.
    groups = sorted(group_keys(keys), key=lambda group: not _CLASSIFIER.match(group))
    rest = len(groups) - LONGEST_LIST
    more = f" and {rest} more group{'s' if rest > 1 else ''}" if rest > 0 else ""
    return ", ".join(groups[:LONGEST_LIST]) + more
