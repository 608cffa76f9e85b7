"""Two processes that share a run, of which one is killed; or whose launcher dies."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from reports.merging.sessions import read_sessions
from robustbench_twicing.cli.app import main
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.cli.conftest import grey
from tests.tiny import text

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NETWORK = '''
import os
import signal
import time
from pathlib import Path

import torch

MARK = Path(__file__).with_name("killed")


class Dying(torch.nn.Module):
    """Class 1 where the mean pixel is above 1/2; process 1 kills once, in its third batch."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        time.sleep(0.05)
        if os.environ.get("RANK") == "1" and self.calls == 3 and not MARK.exists():
            MARK.write_text(os.environ["TORCHELASTIC_RESTART_COUNT"])
            os.kill({victim}, signal.SIGKILL)
        above = x.flatten(1).mean(1) - 0.5
        return torch.stack([-above, above], 1)


def build():
    return Dying()
'''


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for level in range(40):
        grey(tmp_path / "photos" / f"{level // 20}" / f"{level:02d}.png", 6 * level)
    (tmp_path / "classes.txt").write_text("0\n1\n")
    kill(tmp_path, "os.getpid()")
    return tmp_path


def kill(site: Path, victim: str) -> None:
    """Have process 1 kill itself, or who started it."""
    (site / "network.py").write_text(NETWORK.format(victim=victim))


def command(site: Path, out: str) -> list[str]:
    return [
        *("eval", "--model", f"{site / 'network.py'}:build", "--data", str(site / "photos")),
        *("--classes", str(site / "classes.txt"), "--crop", "8", "--resize", "8"),
        *("--attacks", "clean,fgsm", "--eps", "4/255,16/255", "--batch-size", "2"),
        *("--device", "cpu", "--threads", "1", "--out", str(site / out)),
    ]


def torchrun(*arguments: str, restarts: int = 0) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "--max-restarts", str(restarts), "--monitor-interval=0.1"),
            *(str(ROOT / "run_eval.py"), *arguments),
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def records(out: Path) -> str:
    return text(Run(RunFolder.open(out)).records())


def counted(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "results.csv").drop(columns="seconds")


def test_a_killed_worker_is_started_again_and_only_its_part_is_redone(site: Path) -> None:
    done = torchrun(*command(site, "run"), restarts=1)
    assert done.returncode == 0, done.stderr
    assert (site / "killed").read_text() == "0"
    folder = RunFolder.open(site / "run")
    assert folder.complete
    assert len(read_sessions(folder.path)) == 4
    assert main(command(site, "alone")) == 0
    assert records(site / "run") == records(site / "alone")
    found, wanted = (counted(site / name) for name in ("run", "alone"))
    pd.testing.assert_frame_equal(found, wanted)
    assert done.stdout.count("/results.csv\n") == 1, "rank 0 alone speaks"
    last = r"100 %, (\d+) of \1 passes, .*network\.py:build"
    assert re.search(last, done.stderr), done.stderr


def test_without_their_launcher_processes_end_with_one_line(site: Path) -> None:
    """Of Python, torch and its store nothing is heard."""
    kill(site, "os.getppid()")
    done = torchrun(*command(site, "run"), restarts=1)  # ends when all that it started have ended
    assert done.returncode == -signal.SIGKILL
    lines = set(done.stderr.splitlines()) - {f"run folder: {site / 'run'}"}
    (line,) = lines
    assert line.startswith("robustbench-twicing: torchrun or the process of rank 0 has ended")
    assert len(list((site / "run").rglob("part-*.parquet"))) < 20
    assert torchrun(*command(site, "run")).returncode == 0
    assert main(command(site, "alone")) == 0
    assert records(site / "run") == records(site / "alone")


def test_a_mistake_is_said_once(site: Path) -> None:
    done = torchrun(*command(site, "run"), "--limit", "-3")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("robustbench-twicing:")]
    assert len(lines) == 1, done.stderr
    assert not (site / "run").exists()


WITHOUT_LAUNCHER = """
import sys
from robustbench_twicing.cli.app import main
from robustbench_twicing.evaluation import distributed
distributed.SILENCE = 2.0
sys.exit(main(sys.argv[1:]))
"""


def test_without_a_launcher_that_ends_all_a_dead_process_is_noticed(site: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    shared |= {"TORCHELASTIC_RESTART_COUNT": "0", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WITHOUT_LAUNCHER, *command(site, "run")],
            env={**os.environ, **shared, "RANK": str(rank)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, -signal.SIGKILL], errors
    assert errors[0].endswith("process 1 of 2 has ended without a word\n")
    assert Run(RunFolder.open(site / "run")).complete
