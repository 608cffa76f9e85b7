"""Time of corrupting images in one thread and in worker processes, in alternation.

    python benchmarks/workers_time.py [--workers 2] [--rounds 2] [--threads N]

The 20 sample photographs, twice over, under all corruptions but frost at severity 3, as `eval`
makes them. Processes are started within the time, but what their server imports is not: it is paid
once, before the first round that counts.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks.corruptions import CORRUPTIONS, GeneratedImages
from benchmarks.table import Table, show
from benchmarks.timing import arguments, ratio_table
from robustbench_twicing.classifiers.timing import alternate
from robustbench_twicing.data.image_maker import Maker
from robustbench_twicing.data.loader import load_batches
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing

BATCH, TIMES = 20, 2
FLOOR = "1 thread"


def corrupt_all(maker: Maker, workers: int) -> int:
    """Make all images; returns how many."""
    batches = load_batches(maker, [0] * TIMES, batch_size=BATCH, skip_bad=False, workers=workers)
    return sum(len(batch.indices) for batch in batches)


def measure(*, workers: int = 2, rounds: int = 2) -> Iterator[Table]:
    """One table."""
    sources = {name: GeneratedImages(name, 3) for name in CORRUPTIONS if name != "frost"}
    maker = Maker(
        open_dataset("samples:imagenet"), Preprocessing(crop=224, resize=256), sources, keep=BATCH
    )
    ways: dict[str, Callable[[], object]] = {
        FLOOR: partial(corrupt_all, maker, 1),
        f"{workers} processes": partial(corrupt_all, maker, workers),
    }
    seconds = alternate(ways, rounds)
    images = TIMES * BATCH * (1 + len(sources))
    about = f"{images} images, clean and under 18 corruptions at severity 3, median of {rounds}."
    yield ratio_table("Workers", seconds, (FLOOR,), images=images, about=about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
