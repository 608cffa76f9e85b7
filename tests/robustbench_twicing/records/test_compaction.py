"""Many small files become one; whenever it is killed, nothing is lost or counted twice."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.records import locks, session
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.locks import Ownership
from robustbench_twicing.records.manifest import Evaluation, Manifest
from robustbench_twicing.records.part_files import file_name
from robustbench_twicing.records.parts import Records, read_parts, write_parts
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import EARLIER_SCHEMAS, SCHEMA_VERSION
from robustbench_twicing.records.session import compact, compact_around, quarantine_damaged_parts
from tests.plain_manifest import plain_condition, plain_evaluation
from tests.robustbench_twicing.records.test_run_folder import part

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

PARTS, SIZE = 6, 2
FEW = session.FEW
ABOUT = plain_evaluation("a model", PARTS * SIZE, {"pixel:clean": PARTS * SIZE})


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that six parts are many."""
    monkeypatch.setattr(session, "FEW", 4)


def manifest(evaluation: Evaluation = ABOUT, size: int = SIZE) -> Manifest:
    return Manifest((evaluation,), (plain_condition("clean"),), 0, size)


def written(path: Path, without: int = -1) -> RunFolder:
    """A run, perhaps without one part."""
    folder = RunFolder.create_or_continue(path, manifest())
    for number in range(PARTS):
        if number != without:
            folder.write_part(ABOUT, number, part(SIZE * number))
    return folder


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("original") / "run").path


@pytest.fixture(scope="module")
def wanted(original: Path) -> Records:
    return RunFolder.open(original).records(ABOUT)


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(original, tmp_path / "run")
    return RunFolder.open(tmp_path / "run")


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


def test_a_complete_range_becomes_one_file(folder: RunFolder, wanted: Records) -> None:
    before = [folder.part(ABOUT, number) for number in range(PARTS)]
    go(folder)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)
    for number, old in enumerate(before):
        new = folder.part(ABOUT, number)
        assert new.table.equals(old.table)
        assert new[1:] == old[1:]
    stamp = [path.stat().st_mtime_ns for path in folder.parts_folder(ABOUT).glob("part*")]
    go(folder)
    assert [path.stat().st_mtime_ns for path in folder.parts_folder(ABOUT).glob("part*")] == stamp


def test_a_range_with_a_gap_and_a_short_one_stay(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", without=4)
    go(folder)
    assert len(names(folder)) == PARTS - 1
    few = plain_evaluation("a model", 8, {"pixel:clean": 8})
    short = RunFolder.create_or_continue(tmp_path / "short", manifest(few))
    for number in range(4):
        short.write_part(few, number, part(SIZE * number))
    compact(short, few, lambda: False)
    assert len(names(short)) == 4


def test_the_last_part_of_a_range_completes_it(tmp_path: Path, wanted: Records) -> None:
    folder = written(tmp_path / "run", without=4)
    with folder.owner(ABOUT) as owner:
        folder.write_part(ABOUT, 4, part(SIZE * 4))
        compact_around(folder, ABOUT, 4, owner)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)


@pytest.mark.parametrize(
    ("images", "size", "conditions", "most"),
    [(50_000, 128, 111, 34), (50_000, 32, 111, 40), (50_000, 32, 1, 40), (50_000, 1, 1, 32)],
)
def test_a_finished_run_has_some_dozens_of_files(
    images: int, size: int, conditions: int, most: int, tmp_path: Path
) -> None:
    about = plain_evaluation("m", images, {f"pixel:c{i}": images for i in range(conditions)})
    keys = tuple(plain_condition(f"c{i}") for i in range(conditions))
    folder = RunFolder(tmp_path, Manifest((about,), keys, 0, size))
    ranges = list(session._ranges(folder, about))
    assert [number for parts in ranges for number in parts] == list(range(-(-images // size)))
    assert sum(1 if len(parts) > FEW else len(parts) for parts in ranges) <= most
    assert max(map(len, ranges)) * size * conditions <= session.MOST_RECORDS


def test_a_second_attempt_goes_before_the_larger_file(folder: RunFolder, tmp_path: Path) -> None:
    go(folder)
    again = part(SIZE * 3)
    table = again.table.set_column(
        again.table.column_names.index("rank"), "rank", pa.array([7, 7], pa.int32())
    )
    cost = {"pixel:clean": Cost(4, 2, 1.5)}
    folder.write_part(ABOUT, 3, again._replace(table=table, costs=cost))
    rank = [0] * PARTS * SIZE
    rank[6:8] = [7, 7]
    wanted = folder.records(ABOUT)
    assert wanted.frame["rank"].tolist() == rank
    assert wanted.costs["pixel:clean"] == Cost(PARTS * SIZE + 2, 2, PARTS * 0.5 + 1)
    assert [list(file.parts) for file in folder.files(ABOUT)] == [
        [0, 1, 2],
        [3],
        list(range(4, PARTS)),
    ]
    go(folder)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)


def test_numbers_that_are_none_and_earlier_columns_are_kept(folder: RunFolder) -> None:
    path = folder.part_path(ABOUT, 2)
    table = pq.read_table(path)
    loss = pa.array(np.array([np.nan, -0.0]))
    table = table.set_column(table.column_names.index("loss"), "loss", loss)
    pq.write_table(table.select(EARLIER_SCHEMAS[SCHEMA_VERSION].names), path)
    wanted = folder.records(ABOUT)
    go(folder)
    assert len(names(folder)) == 1
    check(folder, wanted)
    assert str(folder.part(ABOUT, 2).table["loss"].to_pylist()) == "[nan, -0.0]"


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
    session.FEW, session.MOST_RECORDS = 3, 6 * SIZE
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


def hold(folder: Path, number: int, pipe: Connection) -> None:
    with Ownership(folder) as owner:
        pipe.send(owner.claim(number))
        pipe.recv()


def test_what_another_process_works_on_is_left_to_it(folder: RunFolder, wanted: Records) -> None:
    here, there = get_context("forkserver").Pipe()
    place = folder.parts_folder(ABOUT)
    other = get_context("forkserver").Process(target=hold, args=(place, 3, there))
    other.start()
    assert here.recv() is True
    go(folder)
    assert len(names(folder)) == PARTS
    here.send(None)
    other.join()
    go(folder)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)


def test_without_locks_all_stays(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_locks", None)
    go(folder)
    assert len(names(folder)) == PARTS


def test_what_is_not_read_back_as_it_was_does_not_count(
    folder: RunFolder,
    wanted: Records,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def wrong(path: Path, parts: list[object], belongs_to: str) -> None:
        write_parts(path, [*parts[:-1], part(0)], belongs_to)  # type: ignore[list-item]

    monkeypatch.setattr(session, "write_parts", wrong)
    go(folder)
    (line,) = caplog.messages
    assert line.startswith("parts 0 to 5 stay in small files: ")
    assert len(names(folder)) == PARTS
    check(folder, wanted)


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


def test_a_damaged_file_is_set_aside_with_all_its_parts(folder: RunFolder) -> None:
    go(folder)
    (file,) = folder.files(ABOUT)
    content = file.path.read_bytes()
    file.path.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"part-000000-000005\.parquet is damaged"):
        folder.records(ABOUT)
    quarantine_damaged_parts(folder, ABOUT, [1, 3], [3])
    assert folder.missing(ABOUT) == []
    quarantine_damaged_parts(folder, ABOUT, [1, 3], [1])
    assert folder.missing(ABOUT) == list(range(PARTS))


def test_a_file_of_other_parts_is_refused(folder: RunFolder, tmp_path: Path) -> None:
    go(folder)
    (file,) = folder.files(ABOUT)
    file.path.rename(file.path.with_name("part-000000-000004.parquet"))
    with pytest.raises(UserError, match="belongs to another run, model, data set or range"):
        folder.records(ABOUT)
    records = read_parts(file.path.with_name("part-000000-000004.parquet"))
    assert len(records.metas) == PARTS


@pytest.mark.parametrize(
    "name",
    [
        "part-000006.parquet",
        "part-000000-000006.parquet",
        "part-000003-000002.parquet",
        "part-000003-000003.parquet",
        "part-0000000.parquet",
        "part-000000-0000005.parquet",
        "part-000000.parquet.damaged-1",
    ],
)
def test_names_that_no_file_of_the_run_has_are_none_of_its_parts(name: str, tmp_path: Path) -> None:
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest())
    folder.parts_folder(ABOUT).mkdir(parents=True)
    (folder.parts_folder(ABOUT) / name).write_text("")
    assert folder.files(ABOUT) == []
