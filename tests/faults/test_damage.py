"""A full disk and damaged parts: what is good stays, what is bad is kept aside and redone."""

import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from robustbench_twicing.cli.api_conditions import read_conditions
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UnreadableError, UserError
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records.run_folder import RunFolder
from tests.faults.disks import Disk
from tests.faults.working import end, start, work
from tests.tiny import SIDE, convnet, run, text

pytestmark = pytest.mark.slow

TINY = "60k"
"""A run needs about three times as much."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    assert end(start(out)) == 0
    return out


def records(out: Path) -> str:
    return text(Run(RunFolder.open(out)).records())


def parts(out: Path) -> list[Path]:
    return sorted(out.rglob("part-*.parquet"))


def test_a_full_disk_is_one_line_and_what_was_written_is_good(
    disk: Disk, undisturbed: Path
) -> None:
    disk.resize(TINY)
    out = disk.path / "run"
    with pytest.raises(UserError, match="No space left on device; what was finished before is kep"):
        work(out)
    kept = {path: path.read_bytes() for path in parts(out)}
    assert 0 < len(kept) < len(parts(undisturbed))
    assert not [path for path in out.rglob("*") if path.name.endswith(".tmp")]
    with pytest.raises(UserError, match="No space left on device"):
        work(out)
    disk.resize("50m")
    work(out)
    assert {path: path.read_bytes() for path in kept} == kept
    assert records(out) == records(undisturbed)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_parts_are_set_aside_and_redone(
    seed: int, undisturbed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    shutil.copytree(undisturbed, out)
    draw = random.Random(seed)
    damaged = {}
    for path in draw.sample(parts(out), 3):
        content = path.read_bytes()
        damaged[path.name] = draw.choice(
            [
                content[: draw.randrange(len(content))],
                content[: len(content) // 2] + os.urandom(len(content) // 2),
                b"",
                parts(out)[int(path.stem[-1]) - 1].read_bytes(),  # a good one, of other images
            ]
        )
        path.write_bytes(damaged[path.name])
    with pytest.raises(UserError, match="run the same eval again"):
        records(out)
    work(out)
    assert records(out) == records(undisturbed)
    aside = {path.name.partition(".damaged-")[0]: path for path in out.rglob("*.damaged-*")}
    assert {name: path.read_bytes() for name, path in aside.items()} == damaged
    assert sum("run the same eval again" in message for message in caplog.messages) == len(damaged)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_became_read_only_is_one_line(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(undisturbed, out)
    parts(out)[0].unlink()
    folder = parts(out)[0].parent
    folder.chmod(0o500)
    try:
        with pytest.raises(UserError, match="cannot be written"):
            work(out)
    finally:
        folder.chmod(0o700)
    work(out)
    assert records(out) == records(undisturbed)


def test_an_array_that_is_cut_short_is_one_line(tmp_path: Path) -> None:
    """Not the end of the process by SIGBUS, as where the file is mapped; and no record of it."""
    values = np.random.default_rng(0).integers(0, 256, (8, SIDE, SIDE, 3), dtype=np.uint8)
    np.save(tmp_path / "x.npy", values)
    np.save(tmp_path / "y.npy", values[:, 0, 0, 0] % 5)
    whole = (tmp_path / "x.npy").read_bytes()

    def cuts(model: object, x: Tensor, y: Tensor, *, generator: object) -> Tensor:
        if cutting[0]:
            os.truncate(tmp_path / "x.npy", len(whole) // 4)
        return x

    def work_on() -> Run:
        data = open_dataset(tmp_path / "x.npy", labels=tmp_path / "y.npy")
        conditions = read_conditions({"clean": None, "own@4/255": cuts})
        return run(convnet(), data, conditions, tmp_path / "run", batch_size=1)

    cutting = [True]
    with pytest.raises(UnreadableError, match=r"x\.npy was changed after it was opened"):
        work_on()
    kept = {path: path.read_bytes() for path in parts(tmp_path / "run")}
    assert 0 < len(kept) < len(values)
    cutting[0] = False
    (tmp_path / "x.npy").write_bytes(whole)
    done = work_on()
    assert done.complete
    assert {path: path.read_bytes() for path in kept} == kept
    assert (done.records()["status"] == "ok").all()
