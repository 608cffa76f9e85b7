"""One label on one data set under one condition, and the names that readers are shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation, Manifest
from robustbench_twicing.registry import unknown

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
        shown_as: a name in place of the label.
    """

    evaluation: Evaluation
    dataset: str
    condition: Condition
    manifest: Manifest
    cost: Cost
    flags: tuple[str, ...]
    folders: tuple[Path, ...]
    shown_as: str = ""

    @property
    def label(self) -> str:
        """The name in tables and pictures; files of the run have that of its evaluation."""
        return self.shown_as or self.evaluation.label

    @property
    def key(self) -> Key:
        """Label, data set, protocol and condition."""
        return self.label, self.dataset, self.condition.protocol, self.condition.id

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


def renamed(entries: Sequence[Entry], names: Mapping[str, str]) -> tuple[Entry, ...]:
    """Entries under other names.

    Args:
        entries: of any labels.
        names: label -> name; labels that are not there keep theirs.

    Raises:
        UserError: an unknown label, or one name for two labels.
    """
    labels = list(dict.fromkeys(entry.label for entry in entries))
    for label in names:
        if label not in labels:
            raise unknown(f"--rename {label}={names[label]}: label", label, labels)
    shown = [names.get(label, label) for label in labels]
    twice = [name for name in shown if shown.count(name) > 1]
    if twice:
        both = [label for label in labels if names.get(label, label) == twice[0]]
        raise UserError(
            f"--rename: {' and '.join(both)} would both be called {twice[0]!r}; give them "
            "different names"
        )
    return tuple(replace(entry, shown_as=names.get(entry.label, "")) for entry in entries)


class Files(NamedTuple):
    """Parquet files of parts with the same columns.

    Attributes:
        paths: of the files.
        images: positions in the data set of the records that count, where these are not all.
    """

    paths: tuple[Path, ...]
    images: range | None = None
