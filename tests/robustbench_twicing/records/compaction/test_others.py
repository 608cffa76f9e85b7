"""Whoever reads or computes meanwhile sees every record once, and keeps what it has in hand."""

from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from robustbench_twicing.records import compaction, locks
from robustbench_twicing.records.compaction import compact, compact_around
from robustbench_twicing.records.part_files import file_name
from robustbench_twicing.records.parts import Records
from robustbench_twicing.records.run_folder import RunFolder
from tests.plain_manifest import plain_evaluation
from tests.robustbench_twicing.records.compaction.made import (
    ABOUT,
    PARTS,
    SIZE,
    check,
    go,
    manifest,
    names,
)
from tests.robustbench_twicing.records.holding import held_elsewhere
from tests.robustbench_twicing.records.test_run_folder import part


def test_what_a_reader_has_in_hand_stays(folder: RunFolder, wanted: Records) -> None:
    with folder.reading():
        files = folder.files(ABOUT)
        locks_before, locks.PATIENCE = locks.PATIENCE, 0.0
        try:
            go(folder)
        finally:
            locks.PATIENCE = locks_before
        assert all(file.path.exists() for file in files)
        check(folder, wanted)
    go(folder)
    assert names(folder) == ["part-000000-000005.parquet"]


LONG = plain_evaluation("a model", 60 * SIZE, {"pixel:clean": 60 * SIZE})


def work_on(path: Path) -> None:
    """Write one part after the other, six of which become one file."""
    compaction.FEW, compaction.MOST_RECORDS = 3, 6 * SIZE
    folder = RunFolder.open(path)
    with folder.owner(LONG) as owner:
        for number in owner.claimed(range(60), partial(folder.is_there, LONG)):
            folder.write_part(LONG, number, part(SIZE * number))
            owner.release(number)
            compact_around(folder, LONG, number, owner)
    compact(folder, LONG, lambda: False)


@pytest.mark.slow
def test_who_reads_meanwhile_sees_every_image_once(tmp_path: Path) -> None:
    """Two processes write parts and make few files of them."""
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest(LONG))
    processes = [
        get_context("forkserver").Process(target=work_on, args=(folder.path,)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    seen = [set[int]()]
    while any(process.is_alive() for process in processes):
        index = folder.records(LONG).frame["index"]
        assert index.is_unique
        assert seen[-1] <= set(index)
        seen.append(set(index))
    assert len(set(map(len, seen))) > 2
    assert [process.exitcode for process in processes] == [0, 0]
    assert folder.records(LONG).frame["index"].tolist() == list(range(60 * SIZE))
    assert len(folder.files(LONG)) == 10


def test_a_folder_that_is_listed_meanwhile_has_all_its_parts(
    folder: RunFolder, wanted: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The larger file is not in what was listed before, nor the small ones in what comes after."""
    monkeypatch.setattr(locks, "PATIENCE", 0)
    iterdir = Path.iterdir

    def in_pieces(path: Path) -> Iterator[Path]:
        monkeypatch.setattr(Path, "iterdir", iterdir)
        listed = sorted(iterdir(path))
        yield from listed[:2]
        go(folder)
        yield from (file for file in listed[2:] if file.exists())

    monkeypatch.setattr(Path, "iterdir", in_pieces)
    assert folder.missing(ABOUT) == []
    go(folder)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)


def test_parts_that_go_meanwhile_are_not_taken_for_all(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    some_parts = RunFolder.some_parts

    def removed(folder: RunFolder, *args: Any) -> Any:
        folder.part_path(ABOUT, 0).unlink()
        return some_parts(folder, *args)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "some_parts", removed)
        go(folder)
    (line,) = caplog.messages
    assert "had all of them, and has 5 by now" in line
    assert names(folder) == [file_name(range(number, number + 1)) for number in range(1, PARTS)]


def test_what_another_process_works_on_is_left_to_it(folder: RunFolder, wanted: Records) -> None:
    with held_elsewhere(folder.parts_folder(ABOUT), 3):
        go(folder)
        assert len(names(folder)) == PARTS
    go(folder)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)


def test_without_locks_all_stays(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_locks", None)
    (folder.parts_folder(ABOUT) / LEFT).write_text("")
    go(folder)
    assert len(names(folder)) == PARTS + 1


LEFT = ".part-000003.parquet.0123456789abcdef.tmp"


def test_what_a_killed_writer_left_goes_and_what_is_being_written_stays(folder: RunFolder) -> None:
    """In a range that is not all there, too."""
    folder.part_path(ABOUT, 0).unlink()
    (folder.parts_folder(ABOUT) / LEFT).write_text("")
    with held_elsewhere(folder.parts_folder(ABOUT), 3):
        go(folder)
        assert LEFT in names(folder)
    go(folder)
    assert names(folder) == [file.path.name for file in folder.files(ABOUT)]
    assert folder.missing(ABOUT) == [0]
