"""Runs of six small parts, which are to become one file: all of a run, or those of a shard."""

from itertools import filterfalse
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from robustbench_twicing.records import compaction, locks
from robustbench_twicing.records.compaction import compact
from robustbench_twicing.records.manifest import Evaluation, Manifest
from robustbench_twicing.records.part_files import file_name
from robustbench_twicing.records.parts import Records
from robustbench_twicing.records.run_folder import RunFolder
from tests.plain_manifest import plain_condition, plain_evaluation
from tests.robustbench_twicing.records.test_run_folder import part

PARTS, SIZE = 6, 2
FEW = compaction.FEW


def of_parts(count: int) -> Evaluation:
    """A model on the images of so many parts."""
    return plain_evaluation("a model", count * SIZE, {"pixel:clean": count * SIZE})


ABOUT = of_parts(PARTS)


class Case(NamedTuple):
    """Six parts that become one file.

    Attributes:
        about: what is evaluated.
        parts: those that are there.
        shards: of which they are one.
    """

    about: Evaluation
    parts: range
    shards: int

    @property
    def done(self) -> list[str]:
        """What is left in the end."""
        return [file_name(self.parts)]


WHOLE = Case(ABOUT, range(PARTS), 1)
THIRD = Case(of_parts(3 * PARTS), range(1, 3 * PARTS, 3), 3)
CASES = {"whole": WHOLE, "third": THIRD}


def manifest(evaluation: Evaluation = ABOUT, size: int = SIZE) -> Manifest:
    return Manifest((evaluation,), (plain_condition("clean"),), 0, size)


def written(path: Path, without: int = -1, case: Case = WHOLE) -> RunFolder:
    """A run, perhaps without one part."""
    folder = RunFolder.create_or_continue(path, manifest(case.about))
    for number in case.parts:
        if number != without:
            folder.write_part(case.about, number, part(SIZE * number))
    return folder


def go(folder: RunFolder, case: Case = WHOLE) -> None:
    compact(folder, case.about, lambda: False, case.shards)


def names(folder: RunFolder) -> list[str]:
    """Of all files beside the parts."""
    (about,) = folder.manifest.evaluations
    place = folder.parts_folder(about)
    return sorted(path.name for path in place.iterdir() if path.name != locks.FILE)


def check(folder: RunFolder, wanted: Records, case: Case = WHOLE) -> None:
    records = folder.records(case.about)
    pd.testing.assert_frame_equal(records.frame, wanted.frame)
    assert records[1:] == wanted[1:]
    missing = [*filterfalse(case.parts.__contains__, range(folder.part_count(case.about)))]
    assert folder.missing(case.about) == missing
