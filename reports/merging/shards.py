"""The parts of one run, from all the folders that hold some of them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder


def read_shards(folders: Sequence[RunFolder], evaluation: Evaluation) -> PartRecords:
    """Records, costs and flags of one evaluation over the shards of its run.

    Raises:
        UserError: a damaged part, or one that is in two folders.
    """
    own = [_own(folder, evaluation) for folder in folders]
    _check_once(folders, own)
    found = [folder.parts(each) for folder, each in zip(folders, own, strict=True)]
    costs, flags = dict[str, Cost](), dict[str, None]()
    for each in found:
        flags.update(dict.fromkeys(each.flags))
        for name, cost in each.costs.items():
            costs.setdefault(name, Cost()).add(cost)
    return PartRecords(pa.concat_tables(each.table for each in found), costs, tuple(flags))


def _own(folder: RunFolder, evaluation: Evaluation) -> Evaluation:
    """The evaluation as this folder's manifest has it: paths may differ between machines."""
    wanted = evaluation.label, evaluation.dataset.name
    return next(
        each for each in folder.manifest.evaluations if (each.label, each.dataset.name) == wanted
    )


def _check_once(folders: Sequence[RunFolder], own: Sequence[Evaluation]) -> None:
    if len(folders) == 1:
        return
    first: dict[int, Path] = {}
    for folder, evaluation in zip(folders, own, strict=True):
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
