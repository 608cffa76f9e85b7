"""Every part of a run is read once and checked before anything is counted."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation
from robustbench_twicing.records.run_folder import RunFolder

from .database import thread_count

CODED = ("image", "pixels_sha256")
MOST_THREADS = 4
"""Each holds one part."""


class Checked(NamedTuple):
    """What the parts of one evaluation hold beside their records.

    Attributes:
        files: the parts, those with the same columns together.
        costs: condition key to cost, summed over parts.
        flags: what happened on the way.
        suspect: whether an image may be counted twice.
    """

    files: tuple[tuple[Path, ...], ...]
    costs: dict[str, Cost]
    flags: tuple[str, ...]
    suspect: bool


class _Part(NamedTuple):
    meta: dict[str, Any]
    images: list[str]
    unknown: bool
    twice: bool


def check_parts(
    shards: Sequence[tuple[RunFolder, Evaluation]], conditions: Sequence[Condition]
) -> Checked:
    """Read the parts of one evaluation, some at a time.

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
    with ThreadPoolExecutor(min(thread_count(), MOST_THREADS)) as pool:
        parts = list(pool.map(lambda task: _check_part(task, positions), work))
    if any(part.unknown for part in parts):
        path = shards[0][0].path
        raise UserError(f"{path} has records of a condition that its run.json does not name")
    costs, flags = dict[str, Cost](), dict[str, None]()
    for part in parts:
        flags.update(dict.fromkeys(part.meta["flags"]))
        for name, cost in part.meta["costs"].items():
            costs.setdefault(name, Cost()).add(Cost(**cost))
    images = [image for part in parts for image in part.images]
    suspect = len(set(images)) < len(images) or any(part.twice for part in parts)
    files: dict[int, list[Path]] = {}
    for (folder, evaluation, number), part in zip(work, parts, strict=True):
        files.setdefault(part.meta["schema"], []).append(folder.part_path(evaluation, number))
    return Checked(tuple(map(tuple, files.values())), costs, tuple(flags), suspect)


def _check_part(task: tuple[RunFolder, Evaluation, int], positions: dict[str, int]) -> _Part:
    folder, evaluation, part = task
    table, meta = folder.read(evaluation, part, CODED)
    codes = _condition_codes(table, positions)
    images = table["image"].unify_dictionaries().combine_chunks()
    names = images.dictionary.to_pylist()
    unknown = bool((codes < 0).any())
    pairs = codes * len(names) + images.indices.to_numpy()
    twice = not unknown and len(pairs) > 0 and bool((np.bincount(pairs) > 1).any())
    return _Part(meta, names, unknown, twice)


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
