"""ImageNet's classes: wnids in the order of every ImageNet-1k head, and the subsets of -A and -R.

Facts, vendored in ``wnids/*.txt`` (sorted, one a line); equal to timm's and to those in the
evaluation code of RVT, FAN and easyrobust.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

NUM_CLASSES = 1000
WNID = re.compile(r"n\d{8}")
Subset = Literal["imagenet-a", "imagenet-r"]
ClassList = Literal["imagenet-1k", "imagenet-a", "imagenet-r"]
SUBSETS: tuple[Subset, ...] = ("imagenet-a", "imagenet-r")
_FILES = {"imagenet-1k": "imagenet1k", "imagenet-a": "imagenet_a", "imagenet-r": "imagenet_r"}


@cache
def wnids(which: ClassList = "imagenet-1k") -> tuple[str, ...]:
    """Sorted WordNet ids: 1000, or the 200 of a subset."""
    name = f"{_FILES[which]}.txt"
    text = (resources.files(__package__) / "wnids" / name).read_text(encoding="ascii")
    return tuple(text.split())


@cache
def wnid_to_index() -> Mapping[str, int]:
    """Wnid to class index 0..999."""
    return {wnid: index for index, wnid in enumerate(wnids())}


@cache
def subset_indices(which: ClassList) -> tuple[int, ...]:
    """The list's classes, of a subset its 200, as ascending indices into the 1000 logits."""
    return tuple(wnid_to_index()[wnid] for wnid in wnids(which))
