"""Every part of a run is read once: checked and counted."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.conditions.condition import CLEAN, Condition
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import MOST_PARTS, Evaluation
from robustbench_twicing.records.part_files import PartFile
from robustbench_twicing.records.parts import PartMeta
from robustbench_twicing.records.run_folder import RunFolder

from .blocks import Block, Plan
from .columns import NEEDED
from .database import thread_count
from .entry import Files
from .strongest import Ensemble, have_worst
from .tally import Tally

CODED = ("image", "pixels_sha256", "message")
MOST_THREADS = 4
"""Each holds the records of one group of parts."""
MOST_RECORDS = 2**17
"""That are counted at once: a few take twice the time, and many leave the processor's cache."""


class Checked(NamedTuple):
    """What the parts of one evaluation hold.

    Attributes:
        files: of the parts, those with the same columns together.
        costs: condition key to cost, summed over parts.
        flags: what happened on the way.
        suspect: whether an image may be counted twice.
        tally: what is counted of the records; the code of a condition is its position.
    """

    files: tuple[Files, ...]
    costs: dict[str, Cost]
    flags: tuple[str, ...]
    suspect: bool
    tally: Tally


Task = tuple[RunFolder, Evaluation, PartFile]


class _Group(NamedTuple):
    """Some files: their columns, what stands beside each part, and what is counted of all."""

    columns: list[int]
    metas: list[PartMeta]
    images: list[str]
    unknown: bool
    twice: bool
    blocks: list[Block]


class _Beside:
    """What stands beside the records, in order of part, in which seconds are added up.

    Whatever files hold the parts: the last digits of a sum are those of its order.
    """

    def __init__(self) -> None:
        self._costs = defaultdict[str, Cost](Cost)
        self._seconds: dict[str, tuple[array[int], array[float]]] = defaultdict(
            lambda: (array("q"), array("d"))
        )
        self._flags = dict[str, int]()

    def add(self, at: int, meta: PartMeta) -> None:
        """Of the part that comes at this place of the order."""
        for flag in meta.flags:
            self._flags[flag] = min(at, self._flags.get(flag, at))
        for name, cost in meta.costs.items():
            self._costs[name].add(cost)
            places, seconds = self._seconds[name]
            places.append(at)
            seconds.append(cost.seconds)

    def costs(self) -> dict[str, Cost]:
        """Condition key to cost, summed."""
        sums = dict[str, Cost]()
        for name, (places, seconds) in self._seconds.items():
            in_order = np.array(seconds)[np.argsort(places)]
            sums[name] = replace(self._costs[name], seconds=float(in_order.cumsum()[-1]))
        return sums

    def flags(self) -> tuple[str, ...]:
        """As they came."""
        return tuple(sorted(self._flags, key=self._flags.__getitem__))


def check_parts(
    shards: Sequence[tuple[RunFolder, Evaluation]],
    conditions: Sequence[Condition],
    count: Callable[[int], None],
) -> Checked:
    """Read the parts of one evaluation, some groups of them at a time.

    Args:
        shards: the folders of the run, each with the evaluation as its manifest has it.
        conditions: of the evaluation.
        count: told how many more files were read.

    Raises:
        UserError: a damaged part, or one with a condition that is not among these.
    """
    work = [
        (folder, evaluation, file)
        for folder, evaluation in shards
        for file in folder.files(evaluation)
    ]
    places = {folder.path: place for place, (folder, _) in enumerate(shards)}
    positions = {condition.key: code for code, condition in enumerate(conditions)}
    plan = _plan(conditions, shards[0][0].manifest.mode)
    tally, beside = Tally(plan), _Beside()
    images, files = list[str](), dict[tuple[int, range | None], list[Path]]()
    unknown = twice = False
    size = shards[0][0].manifest.part_size
    most = max(1, MOST_RECORDS // max(1, size * len(conditions)))
    groups = list(_groups(work, most))
    with ThreadPoolExecutor(min(thread_count(), MOST_THREADS)) as pool:
        checked = pool.map(lambda tasks: _check_group(tasks, positions, plan, most), groups)
        for tasks, group in zip(groups, checked, strict=True):
            unknown, twice = unknown or group.unknown, twice or group.twice
            images += group.images
            numbers = (part for _, _, file in tasks for part in file.parts)
            for part, meta in zip(numbers, group.metas, strict=True):
                beside.add(places[tasks[0][0].path] * MOST_PARTS + part, meta)
            for (_, _, file), columns in zip(tasks, group.columns, strict=True):
                some = None if file.whole else _images(file.parts, size)
                files.setdefault((columns, some), []).append(file.path)
            for block in group.blocks:
                tally.add(block)
            count(len(tasks))
    if unknown:
        path = shards[0][0].path
        raise UserError(f"{path} has records of a condition that its run.json does not name")
    suspect = twice or len(set(images)) < len(images)
    of_files = tuple(Files(tuple(paths), some) for (_, some), paths in files.items())
    return Checked(of_files, beside.costs(), beside.flags(), suspect, tally)


def _groups(work: Sequence[Task], most: int) -> Iterator[list[Task]]:
    """Files of one folder, of so many parts together, or of one file that has more."""
    group, parts = list[Task](), 0
    for task in work:
        count = len(task[2].parts)
        if group and (task[0] is not group[0][0] or parts + count > most):
            yield group
            group, parts = [], 0
        group.append(task)
        parts += count
    if group:
        yield group


def _images(parts: range, size: int) -> range:
    """Their positions in the data set, and those between, which their file does not have."""
    return range(parts[0] * size, (parts[-1] + 1) * size)


def _plan(conditions: Sequence[Condition], mode: str) -> Plan:
    """All conditions by position, and an ensemble for each protocol with attacks."""
    protocols: dict[str, dict[int, Condition]] = {}
    clean: dict[str, list[int]] = {}
    for code, condition in enumerate(conditions):
        if condition.attack == CLEAN:
            clean.setdefault(condition.protocol, []).append(code)
        elif condition.is_attacked and not condition.is_worst:
            protocols.setdefault(condition.protocol, {})[code] = condition
    ensembles = [
        Ensemble(members, tuple(clean.get(protocol, ())), have_worst(members.values(), [mode]))
        for protocol, members in protocols.items()
    ]
    return Plan(len(conditions), tuple(ensembles))


def _check_group(tasks: Sequence[Task], positions: dict[str, int], plan: Plan, most: int) -> _Group:
    columns, metas, images, twice = list[int](), list[PartMeta](), list[str](), False
    tables, all_codes = [], []
    for folder, evaluation, file in tasks:
        records = folder.read(evaluation, file, CODED)
        table = records.table
        codes = _condition_codes(table, positions)
        encoded = table["image"].unify_dictionaries().combine_chunks()
        names = encoded.dictionary.to_pylist()
        pairs = (codes * len(names) + encoded.indices.to_numpy())[codes >= 0]
        twice = twice or (len(pairs) > 0 and bool((np.bincount(pairs) > 1).any()))
        columns.append(records.columns)
        metas += records.metas
        tables.append(table.select([*NEEDED]))
        all_codes.append(codes)
        images += names
    codes = np.concatenate(all_codes)
    unknown = bool((codes < 0).any())
    ends = np.cumsum([0, *(meta.rows or 0 for meta in metas)])
    whole = pa.concat_tables(tables)
    blocks = [
        plan.count(whole.slice(start, end - start), codes[start:end])
        for start, end in pairwise([*ends[:-1:most].tolist(), len(codes)])
        if not unknown
    ]
    return _Group(columns, metas, images, unknown, twice, blocks)


def _condition_codes(table: pa.Table, positions: dict[str, int]) -> NDArray[np.int64]:
    """Of every record, the position of its condition; -1 where it is none of them."""
    if not len(table):
        return np.empty(0, np.int64)
    protocols, conditions = (
        table[name].unify_dictionaries().combine_chunks() for name in ("protocol", "condition")
    )
    lookup = np.array(
        [
            [positions.get(f"{protocol}:{condition}", -1) for condition in _names(conditions)]
            for protocol in _names(protocols)
        ],
        dtype=np.int64,
    )
    codes: NDArray[np.int64] = lookup[protocols.indices.to_numpy(), conditions.indices.to_numpy()]
    return codes


def _names(column: pa.DictionaryArray) -> list[str]:
    names: list[str] = column.dictionary.to_pylist()
    return names
