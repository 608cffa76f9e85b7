"""Every part of a run is read once: checked and counted."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.conditions.condition import CLEAN, Condition
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation
from robustbench_twicing.records.parts import PartMeta
from robustbench_twicing.records.run_folder import RunFolder

from .blocks import Block, Plan
from .columns import NEEDED
from .database import thread_count
from .strongest import Ensemble, have_worst
from .tally import Tally

CODED = ("image", "pixels_sha256", "message")
MOST_THREADS = 4
"""Each holds the records of one group of parts."""
MOST_RECORDS = 100_000
"""Of a group of parts; to count many at once takes half the time of a few at a time."""


class Checked(NamedTuple):
    """What the parts of one evaluation hold.

    Attributes:
        files: the parts, those with the same columns together.
        costs: condition key to cost, summed over parts.
        flags: what happened on the way.
        suspect: whether an image may be counted twice.
        tally: what is counted of the records; the code of a condition is its position.
    """

    files: tuple[tuple[Path, ...], ...]
    costs: dict[str, Cost]
    flags: tuple[str, ...]
    suspect: bool
    tally: Tally


Task = tuple[RunFolder, Evaluation, int]


class _Group(NamedTuple):
    """Some parts: what stands beside each, and what is counted of all."""

    metas: list[PartMeta]
    images: list[str]
    unknown: bool
    twice: bool
    block: Block | None


def check_parts(
    shards: Sequence[tuple[RunFolder, Evaluation]], conditions: Sequence[Condition]
) -> Checked:
    """Read the parts of one evaluation, some groups of them at a time.

    Args:
        shards: the folders of the run, each with the evaluation as its manifest has it.
        conditions: of the evaluation.

    Raises:
        UserError: a damaged part, or one with a condition that is not among these.
    """
    work = [
        (folder, evaluation, part)
        for folder, evaluation in shards
        for part in range(folder.part_count(evaluation))
        if folder.is_there(evaluation, part)
    ]
    positions = {condition.key: code for code, condition in enumerate(conditions)}
    plan = _plan(conditions, shards[0][0].manifest.mode)
    tally, costs, flags = Tally(plan), dict[str, Cost](), dict[str, None]()
    images, files = list[str](), dict[int, list[Path]]()
    unknown = twice = False
    size = max(1, MOST_RECORDS // max(1, shards[0][0].manifest.part_size * len(conditions)))
    groups = [
        tasks[start : start + size]
        for _, of_folder in groupby(work, key=lambda task: task[0])
        for tasks in [list(of_folder)]
        for start in range(0, len(tasks), size)
    ]
    with ThreadPoolExecutor(min(thread_count(), MOST_THREADS)) as pool:
        checked = pool.map(lambda tasks: _check_group(tasks, positions, plan), groups)
        for tasks, group in zip(groups, checked, strict=True):
            unknown, twice = unknown or group.unknown, twice or group.twice
            images += group.images
            for (folder, evaluation, number), meta in zip(tasks, group.metas, strict=True):
                flags.update(dict.fromkeys(meta.flags))
                for name, cost in meta.costs.items():
                    if name not in costs:
                        costs[name] = Cost()
                    costs[name].add(cost)
                path = folder.part_path(evaluation, number)
                files.setdefault(meta.columns, []).append(path)
            if group.block is not None:
                tally.add(group.block)
    if unknown:
        path = shards[0][0].path
        raise UserError(f"{path} has records of a condition that its run.json does not name")
    suspect = twice or len(set(images)) < len(images)
    return Checked(tuple(map(tuple, files.values())), costs, tuple(flags), suspect, tally)


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


def _check_group(tasks: Sequence[Task], positions: dict[str, int], plan: Plan) -> _Group:
    metas, tables, all_codes, images, twice = [], [], [], list[str](), False
    for folder, evaluation, part in tasks:
        table, meta = folder.read(evaluation, part, CODED)
        codes = _condition_codes(table, positions)
        encoded = table["image"].unify_dictionaries().combine_chunks()
        names = encoded.dictionary.to_pylist()
        pairs = (codes * len(names) + encoded.indices.to_numpy())[codes >= 0]
        twice = twice or (len(pairs) > 0 and bool((np.bincount(pairs) > 1).any()))
        metas.append(meta)
        tables.append(table.select([*NEEDED]))
        all_codes.append(codes)
        images += names
    codes = np.concatenate(all_codes)
    unknown = bool((codes < 0).any())
    block = None if unknown else plan.count(pa.concat_tables(tables), codes)
    return _Group(metas, images, unknown, twice, block)


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
