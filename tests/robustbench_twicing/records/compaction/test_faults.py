"""Whatever call to the system fails or is the last: no record is lost or there twice."""

import errno
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pandas as pd
import pytest

from reports import merge
from robustbench_twicing.errors import UserError
from robustbench_twicing.records import compaction, locks
from robustbench_twicing.records.compaction import compact_around
from robustbench_twicing.records.part_files import file_name
from robustbench_twicing.records.parts import Records
from robustbench_twicing.records.run_folder import RunFolder
from tests.faults.calls import Failing, watched
from tests.robustbench_twicing.records.compaction.made import (
    CASES,
    PARTS,
    SIZE,
    THIRD,
    WHOLE,
    Case,
    check,
    go,
    names,
)
from tests.robustbench_twicing.records.test_run_folder import part

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

LAST = PARTS - 1
FULL = (errno.ENOSPC, errno.EDQUOT)
BROKEN = (errno.EIO, errno.EMFILE, errno.ENOLCK)


@pytest.fixture(scope="module")
def begun(original: Path, case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without its last part."""
    path = shutil.copytree(original, tmp_path_factory.mktemp("begun") / "run")
    RunFolder.open(path).part_path(case.about, case.parts[LAST]).unlink()
    return path


def finish(folder: RunFolder, case: Case) -> None:
    """Write the last part and put all into one file, like the process that comes to it last."""
    go(folder, case)
    about, last = case.about, case.parts[LAST:]
    with folder.owner(about) as owner:
        for number in owner.claimed(last, lambda number: folder.is_there(about, number)):
            folder.write_part(about, number, part(SIZE * number))
            owner.release(number)
            compact_around(folder, about, number, owner, case.shards)
    go(folder, case)


def check_some(folder: RunFolder, case: Case, wanted: Records) -> None:
    """All but perhaps the last part are there, once."""
    frame = folder.records(case.about).frame
    assert len(frame) in (SIZE * LAST, SIZE * PARTS)
    pd.testing.assert_frame_equal(frame, wanted.frame.head(len(frame)))


def stray(folder: RunFolder) -> list[str]:
    return [
        name for name in names(folder) if not re.fullmatch(r"part-[0-9-]+(by-3)?\.parquet", name)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "codes"),
    [(WHOLE, FULL), (WHOLE, BROKEN), (THIRD, (errno.EROFS,)), (THIRD, BROKEN)],
    ids=["full", "broken", "third-read-only", "third-broken"],
    scope="module",
)
def test_every_call_fails_in_turn(
    case: Case,
    codes: Sequence[int],
    begun: Path,
    wanted: Records,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line, and what is there is good; the next process ends it and leaves nothing stray."""
    monkeypatch.setattr(locks, "PATIENCE", 0.0)
    ends = set[str]()
    for call in count(1):
        folder = RunFolder.open(shutil.copytree(begun, tmp_path / f"{call}"))
        code = codes[call % len(codes)]
        failing = Failing(call, code)
        caplog.clear()
        problem = ""
        try:
            with watched(folder.path, failing):
                finish(folder, case)
        except UserError as error:
            problem = str(error)
        ends.add("an error" if problem else "a warning" if caplog.messages else "nothing is said")
        assert not problem or os.strerror(code) in problem
        assert "\n" not in problem
        check_some(folder, case, wanted)
        assert not stray(folder) or codes is not FULL  # others may not let it be removed
        finish(RunFolder.open(folder.path), case)
        assert names(folder) == case.done
        check(folder, wanted, case)
        if failing.calls < call:
            break
    assert ends == {"an error", "a warning", "nothing is said"}
    assert call > 50


def finish_and_die(path: Path, case: Case, call: int) -> None:
    """The process is no more from this call on: it tidies nothing up."""
    compaction.FEW, locks.PATIENCE = 4, 0.0
    made = count(1)

    def answer(name: str) -> None:
        if next(made) == call:
            os._exit(9)

    with watched(path, answer):
        finish(RunFolder.open(path), case)


def start(pipe: Connection) -> None:
    """Processes with nothing to import, as asked for: folder, case, and the last call of each."""
    while job := pipe.recv():
        *about, calls = job
        processes = [
            get_context("fork").Process(target=finish_and_die, args=(*about, call))
            for call in calls
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
            pipe.send(process.exitcode)


@pytest.fixture(scope="module")
def starter() -> Iterator[Connection]:
    here, there = get_context("forkserver").Pipe()
    process = get_context("forkserver").Process(target=start, args=(there,))
    process.start()
    yield here
    here.send(None)
    process.join()


def phase(folder: RunFolder, case: Case) -> tuple[int, str, bool]:
    """How many small files there are, what is half written, and whether the large file is there."""
    files = names(folder)
    half = [re.sub(r"\.[0-9a-f]{16}\.tmp", "", name[1:]) for name in stray(folder)]
    small = sum(bool(re.fullmatch(r"part-\d{6}\.parquet", name)) for name in files)
    return small, " ".join(half), case.done[0] in files


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES, scope="module")
def test_killed_at_every_call(
    case: Case, processes: int, begun: Path, wanted: Records, starter: Connection, tmp_path: Path
) -> None:
    """A reader has every record once at any moment, and the next process ends the work.

    A second process, with the same work, is left alone.
    """
    phases = set[tuple[int, str, bool]]()
    calls = list[str]()
    alone = RunFolder.open(shutil.copytree(begun, tmp_path / "alone"))
    with watched(alone.path, calls.append):
        finish(alone, case)
    for call in range(1, len(calls) + 1, processes):
        folder = RunFolder.open(shutil.copytree(begun, tmp_path / f"{call}"))
        starter.send((folder.path, case, [call, 0][:processes]))
        assert starter.recv() == 9 or processes == 2  # which leaves it less to ask for
        check_some(folder, case, wanted)
        if processes == 2:
            assert starter.recv() == 0
            check_some(folder, case, wanted)  # it does not wait for a part that the victim has
        elif (now := phase(folder, case)) not in phases:
            phases.add(now)
            records = merge([folder]).records
            assert len(records) == len(folder.records(case.about).frame)
            assert not records.duplicated(["condition", "index"]).any()
        finish(folder, case)
        assert names(folder) == case.done
        check(folder, wanted, case)
    last = file_name(case.parts[LAST:])
    removal = {(small, "", True) for small in range(PARTS + 1)}
    before = {(LAST, "", False), (LAST, last, False), (PARTS, "", False)}
    assert phases == {*before, (PARTS, case.done[0], False), *removal} or processes == 2


@pytest.mark.skipif(resource is None, reason="only POSIX systems limit the size of files")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES, scope="module")
def test_a_disk_is_full_after_any_number_of_bytes(
    case: Case,
    original: Path,
    begun: Path,
    wanted: Records,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In the middle of what Arrow writes, too."""
    assert resource is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    written = RunFolder.open(shutil.copytree(original, tmp_path / "whole"))
    small = max(file.path.stat().st_size for file in written.files(case.about))
    go(written, case)
    large = (written.parts_folder(case.about) / case.done[0]).stat().st_size
    for most in (0, small // 2, small, (small + large) // 2, large - 1, large):
        folder = RunFolder.open(shutil.copytree(begun, tmp_path / f"{most}"))
        caplog.clear()
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            if most < small:
                with pytest.raises(UserError, match="File too large; what was finished before is"):
                    finish(folder, case)
            else:
                finish(folder, case)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert stray(folder) == []
        assert len(names(folder)) == (LAST if most < small else PARTS if most < large else 1)
        warned = [re.match("parts .* stay in small files", message) for message in caplog.messages]
        assert all(warned)
        assert bool(warned) == (small <= most < large)
        finish(folder, case)
        assert names(folder) == case.done
        check(folder, wanted, case)
