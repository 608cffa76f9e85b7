"""Killed or refused at any moment, compaction loses nothing."""

import os
import re
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from robustbench_twicing.records.part_files import file_name
from robustbench_twicing.records.parts import Records
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.records.compaction.made import ABOUT, PARTS, check, go, names
from tests.robustbench_twicing.records.test_run_folder import part

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]


class Killed(BaseException):
    """The process is no more: nothing that it asks the system for happens."""


CALLS = ((os, "fsync"), (Path, "replace"), (Path, "unlink"))
"""What it asks for."""


def kill_at(patch: pytest.MonkeyPatch, call: int) -> None:
    """Before one of these calls; later ones are of clean-up, which a killed process does not do."""
    made = count(1)

    def dying(function: Callable[..., object]) -> Callable[..., object]:
        def answer(*args: object, **options: object) -> object:
            if next(made) >= call:
                raise Killed
            return function(*args, **options)

        return answer

    for owner, name in CALLS:
        patch.setattr(owner, name, dying(getattr(owner, name)))


def test_killed_in_every_phase_nothing_is_lost_and_the_next_start_cleans_up(
    original: Path, wanted: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = set[tuple[str, ...]]()
    for call in range(1, PARTS + 7):  # two flushes, a renaming, a flush, 1 + 6 removals
        folder = RunFolder.open(shutil.copytree(original, tmp_path / f"{call}"))
        with monkeypatch.context() as patch:
            kill_at(patch, call)
            if call < PARTS + 6:
                with pytest.raises(Killed):
                    go(folder)
            else:
                go(folder)
        states.add(tuple(re.sub(r"\.[0-9a-f]{16}\.", ".X.", name) for name in names(folder)))
        check(folder, wanted)
        go(folder)
        assert names(folder) == ["part-000000-000005.parquet"]
        check(folder, wanted)
    assert (
        len(states) == PARTS + 2
    )  # with a file half made, with both, then with one less each time


@pytest.mark.skipif(resource is None, reason="only POSIX systems limit the size of files")
def test_a_disk_that_takes_no_more_leaves_the_parts_as_they_are(
    folder: RunFolder, wanted: Records, caplog: pytest.LogCaptureFixture
) -> None:
    assert resource is not None
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    small = max(file.path.stat().st_size for file in folder.files(ABOUT))
    resource.setrlimit(resource.RLIMIT_FSIZE, (small, before[1]))
    try:
        go(folder)
        folder.write_part(ABOUT, 0, part(0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (line,) = caplog.messages
    assert line.startswith("parts 0 to 5 stay in small files: ")
    assert "File too large; what was finished before is kept" in line
    assert names(folder) == [file_name(range(number, number + 1)) for number in range(PARTS)]
    check(folder, wanted)
