"""Which of a model's 1000 ImageNet logits answer for which label of a data set."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from .imagenet import Subset, subset_indices


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

    def describe(self) -> dict[str, Any]:
        """Plain values for the manifest; the hash is over ``logits`` as JSON."""
        return {
            "name": self.name,
            "labels": len(self.logits),
            "others_count": self.others_count,
            "convention": self.convention,
            "logits_sha256": hashlib.sha256(json.dumps(self.logits).encode()).hexdigest(),
        }


def subset_space(which: Subset) -> LabelSpace:
    """ImageNet-A's or -R's 200 classes: label ``i`` is the i-th of them in sorted order."""
    logits = tuple((index,) for index in subset_indices(which))
    return LabelSpace(which, logits, others_count=False, convention=f"{len(logits)}-way")
