"""Runs of six small parts, which are to become one file."""

from pathlib import Path

import pandas as pd

from robustbench_twicing.records import compaction, locks
from robustbench_twicing.records.compaction import compact
from robustbench_twicing.records.manifest import Evaluation, Manifest
from robustbench_twicing.records.parts import Records
from robustbench_twicing.records.run_folder import RunFolder
from tests.plain_manifest import plain_condition, plain_evaluation
from tests.robustbench_twicing.records.test_run_folder import part

PARTS, SIZE = 6, 2
FEW = compaction.FEW
ABOUT = plain_evaluation("a model", PARTS * SIZE, {"pixel:clean": PARTS * SIZE})


def manifest(evaluation: Evaluation = ABOUT, size: int = SIZE) -> Manifest:
    return Manifest((evaluation,), (plain_condition("clean"),), 0, size)


def written(path: Path, without: int = -1) -> RunFolder:
    """A run, perhaps without one part."""
    folder = RunFolder.create_or_continue(path, manifest())
    for number in range(PARTS):
        if number != without:
            folder.write_part(ABOUT, number, part(SIZE * number))
    return folder


def go(folder: RunFolder) -> None:
    compact(folder, ABOUT, lambda: False)


def names(folder: RunFolder) -> list[str]:
    """Of all files beside the parts."""
    place = folder.parts_folder(ABOUT)
    return sorted(path.name for path in place.iterdir() if path.name != locks.FILE)


def check(folder: RunFolder, wanted: Records) -> None:
    records = folder.records(ABOUT)
    pd.testing.assert_frame_equal(records.frame, wanted.frame)
    assert records[1:] == wanted[1:]
    assert folder.missing(ABOUT) == []
