"""Merge run folders; what would mix numbers is refused."""

import json
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.identity import images_identity, run_identity
from robustbench_twicing.records.manifest import Evaluation
from robustbench_twicing.records.run_folder import RunFolder

from .database import Database, Source
from .entry import Entry, Key
from .identity import check_counted_once, check_one_label, check_same
from .reading import Checked, check_parts
from .runs import Runs
from .sessions import Session, kernels_of, mixtures, read_sessions

Advance = Callable[[int, int], None]
"""Told how many of how many are done."""


def merge(folders: Sequence[RunFolder], advance: Advance = lambda done, total: None) -> Runs:
    """Merge run folders; see the module's docstring.

    Args:
        folders: of the runs.
        advance: told how many files of records have been read, and how many there are.

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
    files = (folder.files(one) for folder in folders for one in folder.manifest.evaluations)
    merged = _Merging(advance, sum(map(len, files)))
    reading = ExitStack()
    weakref.finalize(merged.database, reading.close)
    for folder in folders:
        reading.enter_context(folder.reading())
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


class Held(NamedTuple):
    """Where the records of an entry are: among which of all parts, and with which code."""

    parts: int
    code: int


class _Merging:
    """Entries and where their records are, so far."""

    def __init__(self, advance: Advance, files: int) -> None:
        self.advance, self.files, self.read = advance, files, 0
        self.entries: dict[Key, Entry] = {}
        self.parts: list[Checked] = []
        self.holds: dict[Key, Held] = {}
        self.suspects: dict[Key, None] = {}
        self.database = Database()
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
        path, manifest = shards[0].path, shards[0].manifest
        check_one_label(evaluation, manifest, path, self.entries.values())
        conditions = manifest.conditions_of(evaluation)
        parts = check_parts(_shards(shards, evaluation), conditions, self.count)
        self.parts.append(parts)
        twice = []
        for code, condition in enumerate(conditions):
            entry = Entry(
                evaluation,
                evaluation.dataset.name,
                condition,
                manifest,
                parts.costs.get(condition.key, Cost()),
                (*parts.flags, *flags),
                tuple(folder.path for folder in shards),
            )
            if entry.key in self.entries:
                twice.append((entry, Held(len(self.parts) - 1, code)))
            else:
                self.entries[entry.key] = entry
                self.holds[entry.key] = Held(len(self.parts) - 1, code)
                if parts.suspect:
                    self.suspects[entry.key] = None
        if twice:
            self._again(twice)

    def count(self, files: int) -> None:
        """So many more files were read."""
        self.read += files
        self.advance(self.read, self.files)

    def _again(self, twice: Sequence[tuple[Entry, Held]]) -> None:
        """The same conditions in a second run: counted once where they are the same, else refused.

        Args:
            twice: entries of the evaluation that was added last, and where their records are.
        """
        entries = [entry for entry, _ in twice]
        earlier = [self.entries[entry.key] for entry in entries]
        first = self._sources([self.holds[entry.key] for entry in entries])
        second = self._sources([held for _, held in twice], start=len(twice))
        check_same(Runs((*earlier, *entries), (*first, *second), database=self.database))
        for before, entry in zip(earlier, entries, strict=True):
            where = entry.evaluation.label, before.folders[0], entry.folders[0]
            self.again.setdefault(where, []).append(entry.key[-1])
            folders = (*before.folders, *entry.folders)
            self.entries[entry.key] = replace(before, folders=folders)

    def _sources(self, holds: Sequence[Held], start: int = 0) -> list[Source]:
        """Of entries, in order, by which parts hold them."""
        columns: dict[int, dict[int, int]] = {}
        for position, held in enumerate(holds, start):
            columns.setdefault(held.parts, {})[position] = held.code
        return [
            Source(of, self.parts[number].tally, self.parts[number].files)
            for number, of in columns.items()
            if self.parts[number].files
        ]

    def finish(self) -> Runs:
        """Everything in the order of results.csv: labels, data sets, conditions as they came."""
        entries = named_apart(list(self.entries.values()))
        groups: dict[tuple[str, str], list[int]] = {}
        for position, entry in enumerate(entries):
            groups.setdefault(entry.key[:2], []).append(position)
        labels = list(dict.fromkeys(label for label, _ in groups))
        ordered = sorted(groups, key=lambda group: labels.index(group[0]))
        order = [position for group in ordered for position in groups[group]]
        keys = list(self.entries)
        sources = self._sources([self.holds[keys[position]] for position in order])
        merged = tuple(entries[position] for position in order)
        runs = Runs(merged, tuple(sources), tuple(self._notes()), self.database)
        check_counted_once(runs, [order.index(keys.index(key)) for key in self.suspects])
        return runs

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
        if len(kinds[name := dataset.name]) > 1:
            identity = json.dumps(images_identity(dataset), sort_keys=True)
            if list(kinds[name].values()).count(kinds[name][identity]) > 1:
                raise UserError(
                    f"two data sets of the same images are called {name}, and differ in source or "
                    "classes; report them separately"
                )
            name += kinds[name][identity]
        apart.append(replace(entry, dataset=name))
    return apart


def _shards(
    folders: Sequence[RunFolder], evaluation: Evaluation
) -> list[tuple[RunFolder, Evaluation]]:
    """The folders of a run, each with the evaluation as its manifest has it.

    Raises:
        UserError: a part that is in two folders.
    """
    evaluations = [_as_in(folder, evaluation) for folder in folders]
    _check_once(folders, evaluations)
    return list(zip(folders, evaluations, strict=True))


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
        for part in (part for file in folder.files(evaluation) for part in file.parts):
            if part in first:
                size = folder.manifest.part_size
                last = min((part + 1) * size, evaluation.dataset.n_images)
                raise UserError(
                    f"{evaluation.label}: images {part * size + 1} to {last} are in {first[part]} "
                    f"and in {folder.path}, shards of one run, and would be counted twice; give "
                    "each shard once"
                )
            first[part] = folder.path
