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
from robustbench_twicing.records.parts import Records
from robustbench_twicing.records.run_folder import RunFolder
from tests.faults.calls import Failing, watched
from tests.robustbench_twicing.records.compaction.made import ABOUT, PARTS, SIZE, check, go, names
from tests.robustbench_twicing.records.test_run_folder import part

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

LAST = PARTS - 1
DONE = ["part-000000-000005.parquet"]
FULL = (errno.ENOSPC, errno.EDQUOT)
BROKEN = (errno.EIO, errno.EMFILE, errno.ENOLCK)


@pytest.fixture(scope="module")
def begun(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without its last part."""
    path = shutil.copytree(original, tmp_path_factory.mktemp("begun") / "run")
    RunFolder.open(path).part_path(ABOUT, LAST).unlink()
    return path


def finish(folder: RunFolder) -> None:
    """Write the last part and put all into one file, like the process that comes to it last."""
    go(folder)
    with folder.owner(ABOUT) as owner:
        for number in owner.claimed([LAST], lambda number: folder.is_there(ABOUT, number)):
            folder.write_part(ABOUT, number, part(SIZE * number))
            owner.release(number)
            compact_around(folder, ABOUT, number, owner)
    go(folder)


def check_some(folder: RunFolder, wanted: Records) -> None:
    """All but perhaps the last part are there, once."""
    frame = folder.records(ABOUT).frame
    assert len(frame) in (SIZE * LAST, SIZE * PARTS)
    pd.testing.assert_frame_equal(frame, wanted.frame.head(len(frame)))


def stray(folder: RunFolder) -> list[str]:
    return [name for name in names(folder) if not re.fullmatch(r"part-[0-9-]+\.parquet", name)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "codes", [FULL, (errno.EROFS,), BROKEN], ids=["full", "read-only", "broken"]
)
def test_every_call_fails_in_turn(
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
                finish(folder)
        except UserError as error:
            problem = str(error)
        ends.add("an error" if problem else "a warning" if caplog.messages else "nothing is said")
        assert not problem or os.strerror(code) in problem
        assert "\n" not in problem
        check_some(folder, wanted)
        assert not stray(folder) or codes is not FULL  # others may not let it be removed
        finish(RunFolder.open(folder.path))
        assert names(folder) == DONE
        check(folder, wanted)
        if failing.calls < call:
            break
    assert ends == {"an error", "a warning", "nothing is said"}
    assert call > 50


def finish_and_die(path: Path, call: int) -> None:
    """The process is no more from this call on: it tidies nothing up."""
    compaction.FEW, locks.PATIENCE = 4, 0.0
    made = count(1)

    def answer(name: str) -> None:
        if next(made) == call:
            os._exit(9)

    with watched(path, answer):
        finish(RunFolder.open(path))


def start(pipe: Connection) -> None:
    """Processes with nothing to import, as asked for: a folder, and the last call of each."""
    while job := pipe.recv():
        path, calls = job
        processes = [
            get_context("fork").Process(target=finish_and_die, args=(path, call)) for call in calls
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


def phase(folder: RunFolder) -> tuple[int, str, bool]:
    """How many small files there are, what is half written, and whether the large file is there."""
    files = names(folder)
    half = [re.sub(r"\.[0-9a-f]{16}\.tmp", "", name[1:]) for name in stray(folder)]
    small = sum(bool(re.fullmatch(r"part-\d{6}\.parquet", name)) for name in files)
    return small, " ".join(half), DONE[0] in files


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_killed_at_every_call(
    processes: int, begun: Path, wanted: Records, starter: Connection, tmp_path: Path
) -> None:
    """A reader has every record once at any moment, and the next process ends the work.

    A second process, with the same work, is left alone.
    """
    phases = set[tuple[int, str, bool]]()
    calls = list[str]()
    alone = RunFolder.open(shutil.copytree(begun, tmp_path / "alone"))
    with watched(alone.path, calls.append):
        finish(alone)
    for call in range(1, len(calls) + 1, processes):
        folder = RunFolder.open(shutil.copytree(begun, tmp_path / f"{call}"))
        starter.send((folder.path, [call, 0][:processes]))
        assert starter.recv() == 9 or processes == 2  # which leaves it less to ask for
        check_some(folder, wanted)
        if processes == 2:
            assert starter.recv() == 0
            check_some(folder, wanted)  # it does not wait for a part that the victim has
        elif (now := phase(folder)) not in phases:
            phases.add(now)
            records = merge([folder]).records
            assert len(records) == len(folder.records(ABOUT).frame)
            assert not records.duplicated(["condition", "index"]).any()
        finish(folder)
        assert names(folder) == DONE
        check(folder, wanted)
    removal = {(small, "", True) for small in range(PARTS + 1)}
    before = {(LAST, "", False), (LAST, "part-000005.parquet", False), (PARTS, "", False)}
    assert phases == {*before, (PARTS, DONE[0], False), *removal} or processes == 2


@pytest.mark.skipif(resource is None, reason="only POSIX systems limit the size of files")
def test_a_disk_is_full_after_any_number_of_bytes(
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
    small = max(file.path.stat().st_size for file in written.files(ABOUT))
    go(written)
    large = (written.parts_folder(ABOUT) / DONE[0]).stat().st_size
    for most in (0, small // 2, small, (small + large) // 2, large - 1, large):
        folder = RunFolder.open(shutil.copytree(begun, tmp_path / f"{most}"))
        caplog.clear()
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            if most < small:
                with pytest.raises(UserError, match="File too large; what was finished before is"):
                    finish(folder)
            else:
                finish(folder)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert stray(folder) == []
        assert len(names(folder)) == (LAST if most < small else PARTS if most < large else 1)
        warned = [
            message.startswith("parts 0 to 5 stay in small files") for message in caplog.messages
        ]
        assert all(warned)
        assert bool(warned) == (small <= most < large)
        finish(folder)
        assert names(folder) == DONE
        check(folder, wanted)
