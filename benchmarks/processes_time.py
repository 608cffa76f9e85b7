"""Images per second of one process and of two, which share a run's images by `--shard`.

    python benchmarks/processes_time.py [--images 16] [--batch 4] [--rounds 2]

Every process computes in one thread. DeiT-tiny, random weights; clean, FGSM and PGD-20 at one
budget. Starting the processes and loading the model are not in the time: all wait for each other
before they begin, and the last one to finish ends it.
"""

import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import ATTACKS
from benchmarks.table import Table, show
from benchmarks.timing import arguments
from robustbench_twicing import load_model
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.dataset import limit_dataset
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.evaluation.options import Shard
from robustbench_twicing.evaluation.runner import Options, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task

PROCESSES = (1, 2)
BUDGET = Fraction(1, 255)
PATIENCE_S = 600
"""For another process that never comes to the start."""


def work(out: Path, shard: Shard, images: int, batch: int, start: Barrier) -> None:
    """One process: load, wait for the others, compute its parts of the run."""
    torch.set_num_threads(1)
    model = load_model("deit_tiny_patch16_224", "random:0")
    data = limit_dataset(open_dataset("samples:imagenet"), images)
    attacked = [ATTACKS[name].condition(BUDGET) for name in ("fgsm", "pgd")]
    tasks = [make_task(data, [clean(), *attacked])]
    start.wait(PATIENCE_S)
    options = Options(batch_size=batch, device="cpu", shard=shard)
    evaluate_models({"deit": model}, tasks, out=out, options=options)


def seconds_of(processes: int, images: int, batch: int) -> float:
    """From the common start until the last process is done."""
    context = get_context("spawn")
    start = context.Barrier(processes + 1)
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        shares = [Shard(one + 1, processes) for one in range(processes)]
        running = [
            context.Process(target=work, args=(out, share, images, batch, start))
            for share in shares
        ]
        for process in running:
            process.start()
        start.wait(PATIENCE_S)
        begun = time.perf_counter()
        for process in running:
            process.join()
        taken = time.perf_counter() - begun
    if any(process.exitcode for process in running):
        raise RuntimeError("a process failed; its traceback is above")
    return taken


def measure(*, images: int = 16, batch: int = 4, rounds: int = 2) -> Iterator[Table]:
    """One table."""
    taken: dict[int, list[float]] = {count: [] for count in PROCESSES}
    for _ in range(rounds):
        for count, seconds in taken.items():
            seconds.append(seconds_of(count, images, batch))
    rows = []
    for count, seconds in taken.items():
        gain = median(taken[1]) / median(seconds)
        rows.append([f"{count}", f"{images / median(seconds):.3f}", f"{gain:.2f}"])
    about = (
        f"{images} images, clean, FGSM and PGD-20 at 1/255 on DeiT-tiny, batch {batch}, one thread "
        f"a process, shards of one run, median of {rounds}."
    )
    yield Table("Processes", ["processes", "images/s", "times as fast as 1"], rows, about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
