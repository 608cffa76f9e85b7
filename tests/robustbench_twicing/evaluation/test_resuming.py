"""A run is continued on the images it was begun with, or not at all."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records import compaction
from robustbench_twicing.records.manifest import SESSIONS
from tests.tiny import MemoryImages, convnet, noise, run

IMAGES = 30


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """One a part, of which the last is taken away."""
    monkeypatch.setattr(compaction, "FEW", IMAGES)


def begun(out: Path, batch_size: int) -> Run:
    """A run whose last part is missing."""
    done = run(convnet(), noise(IMAGES), [clean()], out, batch_size=batch_size)
    (evaluation,) = done.folder.manifest.evaluations
    last = done.folder.part_count(evaluation) - 1
    done.folder.part_path(evaluation, last).unlink()
    return done


class Replaced(MemoryImages):
    """Other pixels under the fingerprint of the first ones."""

    def signature(self, index: int) -> str:
        """That of the images which were replaced."""
        return noise(IMAGES).images.signature(index)


def replaced(change: Callable[[Dataset], Replaced]) -> Dataset:
    data = noise(IMAGES)
    changed = replace(data, images=change(data))
    assert changed.fingerprint == data.fingerprint
    return changed


def inverted(data: Dataset) -> Replaced:
    assert isinstance(data.images, MemoryImages)
    return Replaced(255 - data.images.arrays)


def unreadable(data: Dataset) -> Replaced:
    assert isinstance(data.images, MemoryImages)
    return Replaced(data.images.arrays, frozenset(range(IMAGES)))


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 4, 29])
@pytest.mark.parametrize("change", [inverted, unreadable])
def test_images_that_were_replaced_are_noticed(
    change: Callable[[Dataset], Replaced], batch_size: int, tmp_path: Path
) -> None:
    begun(tmp_path / "run", batch_size)
    with pytest.raises(UserError, match=r"made with other images: image0\.png of tiny is not"):
        run(convnet(), replaced(change), [clean()], tmp_path / "run", batch_size=batch_size)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 2])
def test_a_few_parts_spread_over_the_run_are_looked_into(batch_size: int, tmp_path: Path) -> None:
    begun(tmp_path / "run", batch_size)

    def last_third(data: Dataset) -> Replaced:
        assert isinstance(data.images, MemoryImages)
        arrays = np.concatenate([data.images.arrays[:20], 255 - data.images.arrays[20:]])
        return Replaced(arrays)

    with pytest.raises(UserError, match=r"image2\d\.png of tiny is not what it was"):
        run(convnet(), replaced(last_third), [clean()], tmp_path / "run", batch_size=batch_size)


@pytest.mark.slow
def test_images_that_could_not_be_read_at_first_are_no_reason(tmp_path: Path) -> None:
    options = {"batch_size": 2, "on_bad_image": "skip"}
    data = noise(6, bad=[0, 1, 2])
    for _ in range(2):
        assert run(convnet(), data, [clean()], tmp_path / "run", **options).complete


def test_who_repairs_a_finished_run_is_noted(tmp_path: Path) -> None:
    """Its records may be of another machine than those that were there."""
    done = run(convnet(), noise(4), [clean()], tmp_path / "run", batch_size=4)
    (evaluation,) = done.folder.manifest.evaluations
    done.folder.part_path(evaluation, 0).write_bytes(b"nothing")
    assert len(list((tmp_path / "run" / SESSIONS).iterdir())) == 1
    for _ in ("repaired", "a look at a finished run"):
        assert run(convnet(), noise(4), [clean()], tmp_path / "run", batch_size=4).complete
        assert len(list((tmp_path / "run" / SESSIONS).iterdir())) == 2
