"""ImageNet's classes: wnids in the order of every ImageNet-1k head, and the subsets of -A and -R.

Facts, vendored in ``wnids/*.txt`` (sorted, one a line); equal to timm's and to those in the
evaluation code of RVT, FAN and easyrobust.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

NUM_CLASSES = 1000
WNID = re.compile(r"n\d{8}")
ClassList = str
"""``imagenet-1k``, or a name among the `SUBSETS`."""


@cache
def _listed(name: str) -> tuple[str, ...]:
    text = (resources.files(__package__) / "wnids" / f"{name}.txt").read_text(encoding="ascii")
    return tuple(text.split())


SUBSETS: dict[str, tuple[str, ...]] = {
    "imagenet-a": _listed("imagenet_a"),
    "imagenet-r": _listed("imagenet_r"),
}
"""Sorted wnids of the test sets that have classes of their own, by the set's name."""


def wnids(which: ClassList = "imagenet-1k") -> tuple[str, ...]:
    """Sorted WordNet ids: 1000, or those of a subset."""
    return _listed("imagenet1k") if which == "imagenet-1k" else SUBSETS[which]


@cache
def wnid_to_index() -> Mapping[str, int]:
    """Wnid to class index 0..999."""
    return {wnid: index for index, wnid in enumerate(wnids())}


@cache
def subset_indices(which: ClassList) -> tuple[int, ...]:
    """The list's classes, of ImageNet-A its 200, as ascending indices into the 1000 logits."""
    return tuple(wnid_to_index()[wnid] for wnid in wnids(which))


@dataclass(frozen=True)
class LabelSpace:
    """Labels of a data set that are not ImageNet-1k's 1000 classes themselves.

    Attributes:
        name: of the data set.
        logits: for every label, the class indices 0 to 999 that stand for it.
        others_count: whether the logits of no label stay as wrong answers (ObjectNet), or are left
            out (ImageNet-A and -R).
        convention: short mark that numbers over these labels carry, like ``200-way``.
    """

    name: str
    logits: tuple[tuple[int, ...], ...]
    others_count: bool
    convention: str

    @property
    def record(self) -> "LabelSpaceRecord":
        """What the manifest says of it."""
        digest = hashlib.sha256(json.dumps(self.logits).encode()).hexdigest()
        return LabelSpaceRecord(
            self.name, len(self.logits), self.others_count, self.convention, digest
        )


@dataclass(frozen=True)
class LabelSpaceRecord:
    """What the manifest says of a `LabelSpace`.

    Attributes:
        name: of the data set.
        labels: how many.
        others_count: see `LabelSpace`.
        convention: see `LabelSpace`.
        logits_sha256: hash of `LabelSpace.logits` as JSON.
    """

    name: str
    labels: int
    others_count: bool
    convention: str
    logits_sha256: str


def subset_space(which: ClassList) -> LabelSpace:
    """A subset's classes, like ImageNet-A's 200: label ``i`` is the i-th in sorted order."""
    logits = tuple((index,) for index in subset_indices(which))
    return LabelSpace(which, logits, others_count=False, convention=f"{len(logits)}-way")
