"""Many run folders (shards, machines, models) as one set of results and records.

`merge(folders)` gives `Runs`, on which every table, plot and comparison is built:

- ``runs.entries``: one `Entry` per (label, data set, protocol, condition): what the manifests say.
- ``runs.records``: a DataFrame of per-image records: the columns of `RECORD_SCHEMA` and ``entry``,
  the position in ``runs.entries``; sorted by ``entry``, then by position in the data set. Names,
  image ids, hashes and messages are categorical; whole numbers are floats where some are missing.
- ``runs.of(i)``: the records of entry ``i`` (a slice, no copy).
- ``runs.notes``: sentences a reader must know about the merging itself.
- `results(runs)` (in `results.py`): the table of results.csv; its row ``i`` is entry ``i``.

Folders with equal manifests are shards of one run: their parts together are its records. What
would mix numbers is refused: an image counted twice, one label for two models or one data set name
for two sets of images under a label, one label and condition in two runs with different content.
Where two labels have different images under one data set name, the names are told apart by ``#``
and eight digits of the images' fingerprint.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation, Manifest, condition_key
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import RECORD_SCHEMA

from .frames import condition_codes, records_frame
from .identity import check_one_label, check_same, data_identity, run_identity
from .sessions import Session, mixtures, read_sessions
from .shards import read_shards

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Entry:
    """One label on one data set under one condition: a row of results.csv.

    Attributes:
        evaluation: the model and the data set, as in the manifest.
        dataset: name of the data set; with ``#`` and eight digits of its fingerprint where another
            set of images has the same name.
        condition: id, attack, eps, protocol, threat model, constants, as in the manifest.
        manifest: of the run: seed, device, precision.
        cost: summed over parts and folders.
        flags: what happened on the way (``batch-halved``, ``mixed-versions``).
        folders: where the records are from.
    """

    evaluation: Evaluation
    dataset: str
    condition: Mapping[str, Any]
    manifest: Manifest
    cost: Cost
    flags: tuple[str, ...]
    folders: tuple[Path, ...]

    @property
    def key(self) -> Key:
        """Label, data set, protocol and condition."""
        protocol, condition = self.condition["protocol"], self.condition["id"]
        return self.evaluation.label, self.dataset, protocol, condition

    @property
    def n_expected(self) -> int:
        """Images that the condition is about; with fewer records the entry is incomplete."""
        return self.evaluation.conditions[condition_key(self.condition)]


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

    def of(self, entry: int) -> pd.DataFrame:
        """The records of one entry, in order of image."""
        start = int(self._ends[entry - 1]) if entry else 0
        return self.records.iloc[start : int(self._ends[entry])]


def merge(folders: Sequence[RunFolder]) -> Runs:
    """Merge run folders; see the module's docstring.

    Raises:
        UserError: damaged or foreign parts, an image counted twice, a folder given twice, or runs
            that contradict each other; the message says where and what.
    """
    if not folders:
        raise UserError("no run folder is given; give the --out of an eval")
    _check_paths(folders)
    groups: dict[str, list[RunFolder]] = {}
    for folder in folders:
        groups.setdefault(run_identity(folder.manifest), []).append(folder)
    merged = _Merging()
    for shards in groups.values():
        flags = merged.add_sessions(shards)
        for evaluation in shards[0].manifest.evaluations:
            merged.add(shards, evaluation, flags)
    return merged.finish()


def _check_paths(folders: Iterable[RunFolder]) -> None:
    seen: set[Path] = set()
    for folder in folders:
        path = folder.path.resolve()
        if path in seen:
            raise UserError(f"{folder.path} is given twice; give each run folder once")
        seen.add(path)


class _Merging:
    """Entries and records so far."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.tables: list[pa.Table] = [RECORD_SCHEMA.empty_table()]
        self.positions: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        self.again: dict[tuple[str, Path, Path], list[str]] = {}
        self.sessions: list[Session] = []
        self.mixed: list[str] = []

    def add_sessions(self, shards: Sequence[RunFolder]) -> tuple[str, ...]:
        """Note which processes worked on one run; flags where they were not alike."""
        own = [each for folder in shards for each in read_sessions(folder.path)]
        self.sessions += own
        found = list(mixtures(own))
        names = " and ".join(str(folder.path) for folder in shards)
        self.mixed += [f"{names}: unlike processes worked on it: {each.words}." for each in found]
        return tuple(each.flag for each in found)

    def add(
        self, shards: Sequence[RunFolder], evaluation: Evaluation, flags: tuple[str, ...]
    ) -> None:
        """Add one evaluation of one run, with flags of the whole run."""
        check_one_label(evaluation, shards[0].path, self.entries.values())
        found = read_shards(shards, evaluation)
        conditions = shards[0].manifest.conditions_of(evaluation)
        codes = condition_codes(found.table, conditions, shards[0].path)
        paths = tuple(folder.path for folder in shards)
        wanted = np.full(len(conditions), -1)
        for code, condition in enumerate(conditions):
            cost = found.costs.get(condition_key(condition), Cost())
            manifest = shards[0].manifest
            name = evaluation.dataset["name"]
            own = (*found.flags, *flags)
            entry = Entry(evaluation, name, condition, manifest, cost, own, paths)
            earlier = self.entries.get(entry.key)
            if earlier is None:
                wanted[code] = len(self.entries)
                self.entries[entry.key] = entry
            else:
                self._again(earlier, entry, found.table.filter(pa.array(codes == code)))
        positions = wanted[codes]
        kept = positions >= 0
        whole = bool(kept.all())  # as nearly always: then nothing is copied
        self.tables.append(found.table if whole else found.table.filter(pa.array(kept)))
        self.positions.append(positions[kept])

    def _again(self, earlier: Entry, entry: Entry, table: pa.Table) -> None:
        """The same condition in a second run: counted once where it is the same, else refused."""
        position = list(self.entries).index(entry.key)
        before = pa.concat_tables(
            each.filter(pa.array(found == position))
            for each, found in zip(self.tables, self.positions, strict=True)
        )
        check_same(earlier, entry, before, table)
        where = entry.evaluation.label, earlier.folders[0], entry.folders[0]
        self.again.setdefault(where, []).append(entry.key[-1])
        folders = (*earlier.folders, *entry.folders)
        self.entries[entry.key] = replace(earlier, folders=folders)

    def finish(self) -> Runs:
        """Everything in the order of results.csv: labels, data sets, conditions as they came."""
        entries = named_apart(list(self.entries.values()))
        groups: dict[tuple[str, str], list[int]] = {}
        for position, entry in enumerate(entries):
            groups.setdefault(entry.key[:2], []).append(position)
        labels = list(dict.fromkeys(label for label, _ in groups))
        ordered = sorted(groups, key=lambda group: labels.index(group[0]))
        order = [position for group in ordered for position in groups[group]]
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        merged = tuple(entries[position] for position in order)
        datasets = [entry.dataset for entry in merged]
        folders = [entry.folders[0] for entry in merged]
        positions = place[np.concatenate(self.positions)]
        records = records_frame(self.tables, positions, datasets, folders)
        return Runs(merged, records, tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        for (label, one, other), names in self.again.items():
            yield f"{label}: {', '.join(names)} is the same in {one} and {other}, counted once."
        yield from self.mixed
        if not self.mixed:
            for each in mixtures(self.sessions):
                yield f"The runs were not all computed alike: {each.words}."


def named_apart(entries: Sequence[Entry]) -> list[Entry]:
    """Data sets of one name and different images get names of their own."""
    kinds: dict[str, dict[str, str]] = {}
    for entry in entries:
        dataset = entry.evaluation.dataset
        identity = json.dumps(data_identity(entry.evaluation), sort_keys=True)
        kinds.setdefault(dataset["name"], {})[identity] = f"#{dataset['fingerprint'][:8]}"
    apart = []
    for entry in entries:
        name = entry.evaluation.dataset["name"]
        if len(kinds[name]) > 1:
            identity = json.dumps(data_identity(entry.evaluation), sort_keys=True)
            if list(kinds[name].values()).count(kinds[name][identity]) > 1:
                raise UserError(
                    f"two data sets of the same images are called {name}, and differ in source or "
                    "classes; report them separately"
                )
            name += kinds[name][identity]
        apart.append(replace(entry, dataset=name))
    return apart
