"""Worker processes: a state, tasks, results in order; a process that dies is said."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from robustbench_twicing.data.dataset import Dataset, Pixels
from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.data.image_maker import Maker
from robustbench_twicing.data.loader import load_batches
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.data.worker_pool import WorkerPool
from robustbench_twicing.errors import UserError
from tests.tiny import PREPROCESSING, MemoryImages, noise

pytestmark = pytest.mark.slow


def plus(state: int, task: int) -> tuple[int, int]:
    return state + task, os.getpid()


def test_every_process_has_the_state_and_none_is_this_one() -> None:
    with WorkerPool(2, 100) as pool:
        found = [future.result() for future in [pool.submit(plus, task) for task in range(8)]]
    assert [value for value, _ in found] == list(range(100, 108))
    assert os.getpid() not in {process for _, process in found}


def send(state: int, number: int) -> int:
    """A signal to itself, as a scheduler sends it to every process."""
    os.kill(os.getpid(), number)
    return state


@pytest.fixture
def own_server() -> None:
    """The server that starts processes is the pool's: another test's does not leave signals."""
    vars(forkserver)["_forkserver"]._stop()


@pytest.mark.usefixtures("own_server")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_left_to_the_parent(number: signal.Signals) -> None:
    """Also by the server, which starts the processes and would take them with it."""
    with WorkerPool(2, 100) as pool:
        assert pool.submit(send, int(number)).result() == 100
        server = vars(forkserver._forkserver)["_forkserver_pid"]
        os.kill(server, number)
        time.sleep(1)
        assert os.waitpid(server, os.WNOHANG) == (0, 0), "it has ended"
        assert [pool.submit(plus, task).result()[0] for task in range(4)] == [100, 101, 102, 103]


def sleep(state: int, seconds: int) -> None:
    """A task that takes long."""
    time.sleep(seconds)


def interrupted() -> list["Future[None]"]:
    """Tasks of a pool that Ctrl-C ends while the first of them is at hand."""
    with suppress(KeyboardInterrupt), WorkerPool(2, 100) as pool:
        tasks = [pool.submit(sleep, 600) for _ in range(4)]
        while not tasks[0].running():
            time.sleep(0.01)
        raise KeyboardInterrupt
    return tasks


def test_work_that_is_not_needed_any_more_is_given_up() -> None:
    """Or the interpreter, which waits for it at its end, would hang for as long as it takes."""
    before = len(multiprocessing.active_children())
    began = time.monotonic()
    assert all(task.done() for task in interrupted())
    assert time.monotonic() - began < 300
    assert len(multiprocessing.active_children()) == before


def write(state: int, path: Path) -> None:
    """A task that fails, and one that has a file to write."""
    if state == int(path.name):
        raise UserError("the disk is full")
    time.sleep(0.5)
    path.write_text("whole")


def fail_beside(other: Path) -> None:
    """Two tasks at hand, of which one fails."""
    with WorkerPool(2, 0) as pool:
        writing = pool.submit(write, other)
        while not writing.running():
            time.sleep(0.01)
        pool.submit(write, other.with_name("0")).result()


def test_where_a_task_fails_the_others_at_hand_are_finished(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="full"):
        fail_beside(tmp_path / "1")
    assert (tmp_path / "1").read_text() == "whole"


class Deadly(MemoryImages):
    """Images of which one ends the process that asks for it."""

    def pixels(self, index: int, preprocessing: object) -> object:  # type: ignore[override]
        """No way back at 5."""
        if index == 5:
            os._exit(1)
        return self.arrays[index]


def test_a_process_that_dies_is_one_line_after_what_was_finished() -> None:
    data = noise(16)
    deadly = Dataset("d", data.ids, data.labels, Deadly(data.images.arrays), None, "")  # type: ignore[attr-defined, arg-type]
    batches = load_batches(
        Maker(deadly, PREPROCESSING), range(16), batch_size=1, skip_bad=False, workers=2
    )
    with pytest.raises(UserError, match=r"that makes images died, .*use fewer --workers"):
        list(batches)


class Noted(MemoryImages):
    """Images of which each leaves a file, and waits until so many of them are there."""

    def __init__(self, arrays: NDArray[np.uint8], folder: Path, together: int) -> None:
        super().__init__(arrays)
        self.folder, self.together = folder, together

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """The image, when the others have been begun."""
        (self.folder / str(index)).touch()
        wait_for(self.folder, self.together)
        return super().pixels(index, preprocessing)


def wait_for(folder: Path, count: int) -> None:
    """Until there are so many files."""
    deadline = time.monotonic() + 120
    while len(list(folder.iterdir())) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(list(folder.iterdir()))} of {count}")
        time.sleep(0.01)


def test_processes_have_two_tasks_each_while_the_network_has_its_batch(tmp_path: Path) -> None:
    """However slow: the first image only comes when both processes have begun one."""
    noted = Noted(noise(9).images.arrays, tmp_path, together=2)  # type: ignore[attr-defined]
    maker = Maker(replace(noise(9), images=noted), PREPROCESSING)
    batches = load_batches(maker, range(9), batch_size=1, skip_bad=False, workers=2)
    assert next(batches).part == 0
    wait_for(tmp_path, 5)
    batches.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == list("01234")


def test_bad_images_come_back_from_processes_with_their_path() -> None:
    maker = Maker(noise(6, bad=[4]), PREPROCESSING)
    batches = load_batches(maker, [0], batch_size=6, skip_bad=True, workers=2)
    (batch,) = batches
    assert batch.indices == (0, 1, 2, 3, 5)
    (absent,) = batch.absent
    assert isinstance(absent.error, BadImageError)
    assert absent.error.path == Path("/photos/4.png")


@pytest.mark.parametrize("at", ["__init__", "submit"])
def test_a_system_that_starts_no_processes_is_one_line(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError("AF_UNIX path too long")

    monkeypatch.setattr(f"robustbench_twicing.data.worker_pool.ProcessPoolExecutor.{at}", refuse)
    maker = Maker(noise(2), PREPROCESSING)
    with pytest.raises(UserError, match=r"started here \(AF_UNIX path too long\); .*TMPDIR"):
        list(load_batches(maker, [0], batch_size=2, skip_bad=False, workers=2))
