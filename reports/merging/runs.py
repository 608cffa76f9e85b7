"""Many run folders (shards, machines, models) as one set of results and records.

`merge(folders)` gives `Runs`, on which every table, plot and comparison is built:

- ``runs.entries``: one `Entry` per (label, data set, protocol, condition): what the manifests say.
- ``runs.records``: a DataFrame of per-image records: the columns of `RECORD_SCHEMA` and ``entry``,
  the position in ``runs.entries``; sorted by ``entry``, then by position in the data set. Names,
  image ids, hashes and messages are categorical; whole numbers are floats where some are missing.
- ``runs.of(i)``: the records of entry ``i`` (a slice, no copy).
- ``runs.notes``: sentences a reader must know about the merging itself.
- `results(runs)`: the table of results.csv; its row ``i`` is entry ``i``.

Folders with equal manifests are shards of one run: their parts together are its records. What
would mix numbers is refused: an image counted twice, one label for two models or one data set name
for two sets of images under a label, one label and condition in two runs with different content.
Where two labels have different images under one data set name, the names are told apart by ``#``
and eight digits of the images' fingerprint.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation, Manifest

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Entry:
    """One label on one data set under one condition: a row of results.csv.

    Attributes:
        evaluation: the model and the data set, as in the manifest.
        dataset: name of the data set; with ``#`` and eight digits of its fingerprint where another
            set of images has the same name.
        condition: as in the manifest.
        manifest: of the run: seed, device, precision.
        cost: summed over parts and folders.
        flags: what happened on the way (``batch-halved``, ``mixed-versions``).
        folders: where the records are from.
    """

    evaluation: Evaluation
    dataset: str
    condition: Condition
    manifest: Manifest
    cost: Cost
    flags: tuple[str, ...]
    folders: tuple[Path, ...]

    @property
    def key(self) -> Key:
        """Label, data set, protocol and condition."""
        return self.evaluation.label, self.dataset, self.condition.protocol, self.condition.id

    @property
    def shown_flags(self) -> tuple[str, ...]:
        """Of `flags`, without those that say what other attacks of the run had to leave out."""
        of_attacks = {flag for one in self.manifest.conditions for flag in one.about.few_classes}
        others = of_attacks - set(self.condition.about.few_classes)
        return tuple(flag for flag in self.flags if flag not in others)

    @property
    def n_expected(self) -> int:
        """Images that the condition is about; with fewer records the entry is incomplete."""
        return self.evaluation.conditions[self.condition.key]


@dataclass(frozen=True)
class Runs:
    """Merged runs; see the module's docstring.

    Attributes:
        entries: in the order of results.csv.
        records: per image; see the module's docstring.
        notes: sentences about the merging.
    """

    entries: tuple[Entry, ...]
    records: pd.DataFrame
    notes: tuple[str, ...] = ()
    _ends: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        counts = np.bincount(self.records["entry"], minlength=len(self.entries))
        object.__setattr__(self, "_ends", np.cumsum(counts))

    @property
    def attacks(self) -> dict[str, Condition]:
        """By name of an attack, the first condition that it is of."""
        first: dict[str, Condition] = {}
        for entry in self.entries:
            first.setdefault(entry.condition.attack, entry.condition)
        return first

    def of(self, entry: int) -> pd.DataFrame:
        """The records of one entry, in order of image."""
        start = int(self._ends[entry - 1]) if entry else 0
        return self.records.iloc[start : int(self._ends[entry])]
