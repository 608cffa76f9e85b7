"""Merge run folders; what would mix numbers is refused."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.identity import images_identity, run_identity
from robustbench_twicing.records.manifest import Evaluation
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import RECORD_SCHEMA

from .frames import condition_codes, records_frame
from .identity import check_one_label, check_same
from .runs import Entry, Key, Runs
from .sessions import Session, kernels_of, mixtures, read_sessions


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
        identity = json.dumps(run_identity(folder.manifest), sort_keys=True)
        groups.setdefault(identity, []).append(folder)
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
        sessions = [
            session
            for folder in shards
            for session in read_sessions(folder.path, kernels_of(folder.manifest))
        ]
        self.sessions += sessions
        mixed = list(mixtures(sessions))
        names = " and ".join(str(folder.path) for folder in shards)
        self.mixed += [f"{names}: unlike processes worked on it: {words}." for _, words in mixed]
        return tuple(flag for flag, _ in mixed)

    def add(
        self, shards: Sequence[RunFolder], evaluation: Evaluation, flags: tuple[str, ...]
    ) -> None:
        """Add one evaluation of one run, with flags of the whole run."""
        check_one_label(evaluation, shards[0].path, self.entries.values())
        parts = _read_shards(shards, evaluation)
        conditions = shards[0].manifest.conditions_of(evaluation)
        codes = condition_codes(parts.table, conditions, shards[0].path)
        paths = tuple(folder.path for folder in shards)
        new_positions = np.full(len(conditions), -1)
        for code, condition in enumerate(conditions):
            entry = Entry(
                evaluation,
                evaluation.dataset.name,
                condition,
                shards[0].manifest,
                parts.costs.get(condition.key, Cost()),
                (*parts.flags, *flags),
                paths,
            )
            earlier = self.entries.get(entry.key)
            if earlier is None:
                new_positions[code] = len(self.entries)
                self.entries[entry.key] = entry
            else:
                self._again(earlier, entry, parts.table.filter(pa.array(codes == code)))
        positions = new_positions[codes]
        is_new = positions >= 0
        whole = bool(is_new.all())  # as nearly always: then nothing is copied
        self.tables.append(parts.table if whole else parts.table.filter(pa.array(is_new)))
        self.positions.append(positions[is_new])

    def _again(self, earlier: Entry, entry: Entry, table: pa.Table) -> None:
        """The same condition in a second run: counted once where it is the same, else refused."""
        position = list(self.entries).index(entry.key)
        before = pa.concat_tables(
            table_before.filter(pa.array(positions == position))
            for table_before, positions in zip(self.tables, self.positions, strict=True)
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
        for (label, first, second), names in self.again.items():
            place = f"{', '.join(names)} is in {first} and in {second}"
            yield f"{label}: {place}, with equal results; it is used once."
        yield from self.mixed
        if not self.mixed:
            for _, words in mixtures(self.sessions):
                yield f"The runs were not all computed alike: {words}."


def named_apart(entries: Sequence[Entry]) -> list[Entry]:
    """Data sets of one name and different images get names of their own."""
    kinds: dict[str, dict[str, str]] = {}
    for entry in entries:
        dataset = entry.evaluation.dataset
        identity = json.dumps(images_identity(dataset), sort_keys=True)
        kinds.setdefault(dataset.name, {})[identity] = f"#{dataset.fingerprint[:8]}"
    apart = []
    for entry in entries:
        dataset = entry.evaluation.dataset
        name = dataset.name
        if len(kinds[name]) > 1:
            identity = json.dumps(images_identity(dataset), sort_keys=True)
            if list(kinds[name].values()).count(kinds[name][identity]) > 1:
                raise UserError(
                    f"two data sets of the same images are called {name}, and differ in source or "
                    "classes; report them separately"
                )
            name += kinds[name][identity]
        apart.append(replace(entry, dataset=name))
    return apart


def _read_shards(folders: Sequence[RunFolder], evaluation: Evaluation) -> PartRecords:
    """Records, costs and flags of one evaluation over the shards of its run.

    Raises:
        UserError: a damaged part, or one that is in two folders.
    """
    evaluations = [_as_in(folder, evaluation) for folder in folders]
    _check_once(folders, evaluations)
    shards = [folder.parts(shard) for folder, shard in zip(folders, evaluations, strict=True)]
    costs, flags = dict[str, Cost](), dict[str, None]()
    for parts in shards:
        flags.update(dict.fromkeys(parts.flags))
        for name, cost in parts.costs.items():
            costs.setdefault(name, Cost()).add(cost)
    return PartRecords(pa.concat_tables(parts.table for parts in shards), costs, tuple(flags))


def _as_in(folder: RunFolder, evaluation: Evaluation) -> Evaluation:
    """The evaluation as this folder's manifest has it: paths may differ between machines."""
    name = evaluation.label, evaluation.dataset.name
    return next(
        candidate
        for candidate in folder.manifest.evaluations
        if (candidate.label, candidate.dataset.name) == name
    )


def _check_once(folders: Sequence[RunFolder], evaluations: Sequence[Evaluation]) -> None:
    if len(folders) == 1:
        return
    first: dict[int, Path] = {}
    for folder, evaluation in zip(folders, evaluations, strict=True):
        missing = set(folder.missing(evaluation))
        for part in set(range(folder.part_count(evaluation))) - missing:
            if part in first:
                size = folder.manifest.part_size
                last = min((part + 1) * size, evaluation.dataset.n_images)
                raise UserError(
                    f"{evaluation.label}: images {part * size + 1} to {last} are in {first[part]} "
                    f"and in {folder.path}, shards of one run, and would be counted twice; give "
                    "each shard once"
                )
            first[part] = folder.path
