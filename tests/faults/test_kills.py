"""Killed at any moment, alone or beside another process, a run ends as if nothing had happened.

``FAULT_KILLS`` says how many kills there are; `make fault` sets it to 40.
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from robustbench_twicing.evaluation.options import WHOLE, Shard
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records.run_folder import RunFolder
from tests.faults.working import BATCH, IMAGES, end, start
from tests.tiny import text

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("FAULT_KILLS", "8"))
PARTS = IMAGES // BATCH


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, float]:
    """Records of a run that nothing happened to, and the seconds it took."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    assert end(start(out.with_name("warm"))) == 0  # the server imports torch first
    began = time.monotonic()
    assert end(start(out)) == 0
    return text(Run(RunFolder.open(out)).records()), time.monotonic() - began


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_process_loses_and_doubles_nothing(
    kill: int, undisturbed: tuple[str, float], tmp_path: Path
) -> None:
    """Every other time a second process works on the same folder and is left alone.

    Of four times two the parts become few files, in every phase of which the kill may come.
    """
    wanted, seconds = undisturbed
    out, joined = tmp_path / "run", kill % 4 > 1
    victim = start(out, joined=joined)
    others = [start(out, joined=joined)] if kill % 2 else []
    time.sleep(random.Random(kill).uniform(0, seconds))
    victim.kill()
    assert end(victim) in (-signal.SIGKILL, 0)
    assert [end(other) for other in others] == [0] * len(others)
    kept = costs(out)
    assert end(start(out, joined=joined)) == 0
    assert kept.items() <= costs(out).items(), "a whole part was redone"
    assert len(list(out.rglob("*part-*" if joined else "part-*"))) == (2 if joined else PARTS)
    done = Run(RunFolder.open(out))
    assert done.complete
    assert len(done.records()) == 4 * IMAGES
    assert text(done.records()) == wanted


@pytest.mark.parametrize("kill", range(KILLS // 2))
def test_a_killed_shard_is_gone_on_with_as_it_was_and_as_all(
    kill: int, undisturbed: tuple[str, float], tmp_path: Path
) -> None:
    """Every other time another shard works on the same folder and is left alone."""
    wanted, seconds = undisturbed
    out = tmp_path / "run"
    victim = start(out, Shard(2, 3), joined=True)
    others = [start(out, Shard(1, 3), joined=True)] if kill % 2 else []
    time.sleep(random.Random(kill).uniform(0, seconds / 2))
    victim.kill()
    assert end(victim) in (-signal.SIGKILL, 0)
    assert [end(other) for other in others] == [0] * len(others)
    for shard, files in ((Shard(2, 3), 1 + len(others)), (WHOLE, 3)):
        kept = costs(out)
        assert end(start(out, shard, joined=True)) == 0
        assert kept.items() <= costs(out).items(), "a whole part was redone"
        assert len(list(out.rglob("*part-*-by-3.parquet"))) == files
        assert len(list(out.rglob("*part-*"))) == files
    assert text(Run(RunFolder.open(out)).records()) == wanted


def costs(out: Path) -> dict[int, str]:
    """Of every part that is there, in seconds, too, which are never the same twice."""
    if not (out / "run.json").exists():
        return {}
    folder = RunFolder.open(out)
    (evaluation,) = folder.manifest.evaluations
    parts = folder.some_parts(evaluation, range(PARTS))
    return {part: repr(records.costs) for part, records in parts}


def test_survivors_mode_is_killed_again_and_again_in_two_shards(tmp_path: Path) -> None:
    wanted, out = tmp_path / "wanted", tmp_path / "run"
    began = time.monotonic()
    assert end(start(wanted, survivors=True)) == 0
    seconds = time.monotonic() - began
    for kill in range(KILLS):
        victim = start(out, Shard(1 + kill % 2, 2), survivors=True, joined=True)
        time.sleep(random.Random(kill).uniform(0, seconds / 2))
        victim.kill()
        assert end(victim) in (-signal.SIGKILL, 0)
    assert end(start(out, survivors=True, joined=True)) == 0
    records = Run(RunFolder.open(out)).records()
    assert (records["status"] == "inherited").any()
    assert text(records) == text(Run(RunFolder.open(wanted)).records())
