"""Any number of processes, in any order, with any batch size: each image once, the same facts."""

import random
from pathlib import Path

import pandas as pd
import pytest

from reports.merging.sessions import read_sessions
from robustbench_twicing.evaluation.options import Shard
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records.run_folder import RunFolder
from tests.faults.working import CONDITIONS, IMAGES, end, start
from tests.tiny import text

pytestmark = pytest.mark.slow

COMPUTED = ["clean_loss", "loss", "gradient", "linf"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Records of one process."""
    out = tmp_path_factory.mktemp("alone") / "run"
    assert end(start(out)) == 0
    return records(out)


def records(out: Path) -> pd.DataFrame:
    done = Run(RunFolder.open(out))
    assert done.complete
    found = done.records()
    assert not found.duplicated(["condition", "image"]).any()
    assert len(found) == len(CONDITIONS) * IMAGES
    return found


@pytest.mark.parametrize("count", [2, 3])
def test_processes_share_a_folder_without_being_told_how(
    count: int, alone: pd.DataFrame, tmp_path: Path
) -> None:
    """No part is computed twice: the passes that were counted are those of one process."""
    out = tmp_path / "run"
    processes = [start(out) for _ in range(count)]
    assert [end(process) for process in processes] == [0] * count
    assert text(records(out)) == text(alone)
    folder = RunFolder.open(out)
    assert 1 <= len(read_sessions(out)) <= count  # the last one may find all done
    costs = folder.records(folder.manifest.evaluations[0]).costs
    assert costs["pixel:clean"].n_forward == IMAGES


@pytest.mark.parametrize("shards", [2, 3])
def test_shards_in_any_order_are_one_run(shards: int, alone: pd.DataFrame, tmp_path: Path) -> None:
    out = tmp_path / "run"
    numbers = list(range(1, shards + 1))
    random.Random(shards).shuffle(numbers)
    for number in numbers:
        assert not out.exists() or not RunFolder.open(out).complete
        assert end(start(out, Shard(number, shards))) == 0
    assert text(records(out)) == text(alone)


@pytest.mark.parametrize("batch", [1, 5, 24])
def test_the_batch_size_changes_rounding_only(
    batch: int, alone: pd.DataFrame, tmp_path: Path
) -> None:
    assert end(start(tmp_path / "run", batch=batch)) == 0
    found = records(tmp_path / "run")
    exact = [name for name in found.columns if name not in COMPUTED]
    assert text(found[exact]) == text(alone[exact])
    for name in COMPUTED:
        pd.testing.assert_series_equal(found[name], alone[name], rtol=1e-4, atol=1e-5)
