"""What an evaluation costs besides network and attacks: microseconds of the processor a record.

    python -m benchmarks.overhead [--images 50000] [--batches 32,512] [--rounds 5]

Two processes, one thread each, work on one run of images of 3 x 28 x 28 from memory: clean and 19
budgets of an attack that returns its images, a network without arithmetic. Of the time of both
(user and system) that of a run of few images is taken away, and the contract check is shown on its
own. Time of the processor, too, is longer where other programs share its cores and caches.
"""

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured
from robustbench_twicing.cli.app import main
from robustbench_twicing.conditions.ball import check_adversarial
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.evaluation import attack_step

PROCESSES, BUDGETS = 2, 19
CODE = """\
from torch import nn

class Free(nn.Module):
    def forward(self, x):
        return x.flatten(1)[:, :10]

def same(model, x, y, *, eps, generator):
    return x
"""
INCOMPLETE = 4
EPS = 4 / 255
SIZES = (28, 224)
OF_CONTRACT = 32
"""Images of a batch whose contract is checked."""


class Taken(NamedTuple):
    """Seconds of the processor: of a whole process, and in the contract check."""

    whole: float
    contract: float


def work(arguments: list[str]) -> Taken:
    """One process: the command line as it is, with a clock around the contract check."""
    seconds = 0.0

    def timed(*given: Any, **named: Any) -> Any:
        nonlocal seconds
        begun = time.thread_time()
        try:
            return check_adversarial(*given, **named)
        finally:
            seconds += time.thread_time() - begun

    clock = patch.object(attack_step, "check_adversarial", timed)
    with clock, redirect_stdout(StringIO()):
        status = main(arguments)
    if status not in (0, INCOMPLETE):  # the first to be done cannot finish the other's part
        raise RuntimeError(f"eval ended with status {status}")
    return Taken(time.process_time(), seconds)


def seconds_of(folder: Path, images: int, batch: str) -> Taken:
    """Of all processes together, for one run of so many images."""
    code, budgets = folder / "overhead.py", ",".join(f"{k}/255" for k in range(1, BUDGETS + 1))
    options = {
        **{"--model": f"{code}:Free", "--data": str(folder / "images.npz"), "--limit": str(images)},
        **{"--attacks": f"clean,{code}:same", "--eps": budgets, "--crop": "28", "--resize": "28"},
        **{"--device": "cpu", "--threads": "1", "--batch-size": batch},
    }
    with (
        TemporaryDirectory() as out,
        ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool,
    ):
        given = ["eval", *chain(*options.items()), "--out", str(Path(out) / "run")]
        running = [pool.submit(work, given) for _ in range(PROCESSES)]
        taken = [process.result() for process in running]
    return Taken(*map(sum, zip(*taken, strict=True)))


def measure(*, images: int = 50_000, batches: str = "32,512", rounds: int = 5) -> Iterator[Table]:
    """One table of whole runs, one of the contract check."""
    rows = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "overhead.py").write_text(CODE, encoding="utf-8")
        drawn = np.random.default_rng(0)
        pixels = drawn.integers(0, 256, (images, 28, 28, 3), dtype=np.uint8)
        np.savez(folder / "images.npz", images=pixels, labels=drawn.integers(0, 10, images))
        for batch in batches.split(","):
            few = min(images // 10, 1000)
            start, all_images = (seconds_of(folder, count, batch) for count in (few, images))
            whole, contract = (
                1e6 * (end - begun) / ((images - few) * (BUDGETS + 1))
                for begun, end in zip(start, all_images, strict=True)
            )
            rows.append([batch, f"{whole - contract:.1f}", f"{contract:.1f}", f"{start.whole:.1f}"])
    about = (
        f"{images:,} images of 3 x 28 x 28, clean and {BUDGETS} budgets, {PROCESSES} processes of "
        "one thread: microseconds a record; seconds to start both."
    )
    yield Table("Overhead", ["batch", "without contract", "contract", "start, s"], rows, about)
    yield _contract(rounds)


def _contract(rounds: int) -> Table:
    """The check of a batch of changed images, beside a read and a copy of its memory."""
    threat, rows = PROTOCOLS["pixel"].threat, []
    torch.set_num_threads(1)
    for size in SIZES:
        generator = torch.Generator().manual_seed(0)
        x = torch.rand(OF_CONTRACT, 3, size, size, generator=generator)
        moved = x + EPS * (2 * torch.rand(x.shape, generator=generator) - 1)
        x_adv = moved.clamp(0, 1)
        ways: dict[str, Callable[[], object]] = {
            "check": partial(check_adversarial, x, x_adv, EPS, threat),
            "read": x_adv.sum,
            "copy": x_adv.clone,
        }
        seconds = {way: median(taken) for way, taken in measured(ways, 10 * rounds).items()}
        times = [f"{1e6 * seconds[way] / OF_CONTRACT:.2f}" for way in ways]
        ratios = [f"{seconds['check'] / seconds[way]:.0f}" for way in ("read", "copy")]
        rows.append([f"{size} px", *times, *ratios])
    columns = ["images", "check", "read", "copy", "check / read", "check / copy"]
    about = (
        f"A batch of {OF_CONTRACT}, one thread, microseconds an image, median of {10 * rounds}: "
        "the check reads clean and adversarial images, and measures in float64."
    )
    return Table("Contract check", columns, rows, about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
