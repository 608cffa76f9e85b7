"""Time of corrupting images in one thread and in worker processes, in alternation.

usage: OMP_NUM_THREADS=1 python -m benchmarks.workers_time [--workers 2 4] [--rounds 3]

The 20 sample photographs, four times over, under all corruptions but frost at severity 3, as `eval`
makes them. Processes are started within the time, but what their server imports is not: it is paid
once, before the first round that counts.
"""

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median

from attacks.corruptions import CORRUPTIONS, GeneratedImages
from robustbench_twicing.batches import load_batches
from robustbench_twicing.data import open_dataset
from robustbench_twicing.making import Maker
from robustbench_twicing.preprocessing import Preprocessing
from robustbench_twicing.timing import alternate

BATCH, TIMES = 20, 4


def corrupt_all(maker: Maker, workers: int) -> int:
    """Make all images; returns how many."""
    batches = load_batches(maker, [0] * TIMES, batch_size=BATCH, skip_bad=False, workers=workers)
    return sum(len(batch.indices) for batch in batches)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sources = [GeneratedImages(name, 3) for name in CORRUPTIONS if name != "frost"]
    maker = Maker(
        open_dataset("samples:imagenet"), Preprocessing(crop=224, resize=256), sources, keep=BATCH
    )
    ways: dict[str, Callable[[], object]] = {
        str(workers): partial(corrupt_all, maker, workers) for workers in (1, *options.workers)
    }
    taken = {name: median(seconds) for name, seconds in alternate(ways, options.rounds).items()}
    images = corrupt_all(maker, 1)
    print(f"{'workers':>8} {'ms/image':>9} {'faster':>7}")
    for name, seconds in taken.items():
        print(f"{name:>8} {1000 * seconds / images:9.1f} {taken['1'] / seconds:6.2f}x")


if __name__ == "__main__":
    main()
