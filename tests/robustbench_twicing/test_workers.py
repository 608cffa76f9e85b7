"""Worker processes: a state, tasks, results in order; a process that dies is said."""

import os
from pathlib import Path

import pytest

from robustbench_twicing.batches import load_batches
from robustbench_twicing.data import BadImageError, Dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.making import Maker
from robustbench_twicing.workers import WorkerPool
from tests.tiny import PREPROCESSING, MemoryImages, noise


def plus(state: int, task: int) -> tuple[int, int]:
    return state + task, os.getpid()


def test_every_process_has_the_state_and_none_is_this_one() -> None:
    with WorkerPool(2, 100) as pool:
        found = [each.result() for each in [pool.submit(plus, task) for task in range(8)]]
    assert [value for value, _ in found] == list(range(100, 108))
    assert os.getpid() not in {process for _, process in found}


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

    monkeypatch.setattr(f"robustbench_twicing.workers.ProcessPoolExecutor.{at}", refuse)
    maker = Maker(noise(2), PREPROCESSING)
    with pytest.raises(UserError, match=r"started here \(AF_UNIX path too long\); .*TMPDIR"):
        list(load_batches(maker, [0], batch_size=2, skip_bad=False, workers=2))
