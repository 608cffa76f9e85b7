"""Images per second from files, and from a warm --cache, read in alternation.

    python benchmarks/cache_time.py [--data samples:imagenet] [--rounds 9]

Every crop from the cache is compared with the decoded one. 256/224 pixels, bicubic.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.table import Table, show
from benchmarks.timing import measured
from robustbench_twicing.classifiers.timing import median_ratio
from robustbench_twicing.data.crop_cache import cache_crops
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing

PREPROCESSING = Preprocessing(crop=224, resize=256)
FILES, CACHE = "files", "warm cache"


def read(data: Dataset) -> list[bytes]:
    """Every image."""
    return [data.pixels(index, PREPROCESSING).tobytes() for index in range(len(data))]


def measure(*, data: str = "samples:imagenet", rounds: int = 9) -> Iterator[Table]:
    """One table."""
    files = open_dataset(data)
    with tempfile.TemporaryDirectory() as folder:
        cached = cache_crops(files, Path(folder))
        equal = read(cached) == read(files)  # fills the cache, too
        equal &= read(cached) == read(files)
        ways: dict[str, Callable[[], object]] = {
            FILES: partial(read, files),
            CACHE: partial(read, cached),
        }
        seconds = measured(ways, rounds)
    rows = []
    for name, taken in seconds.items():
        faster = median_ratio(seconds[FILES], taken)
        rows.append([name, f"{len(files) / median(taken):.0f}", f"{faster:.1f}"])
    about = (
        f"{len(files)} images of {files.name}, decoded, resized to 256 and cropped to 224; median "
        f"of {rounds}. Bitwise equal: {'yes' if equal else 'NO'}."
    )
    yield Table("Decoding and its cache", ["from", "images/s", "times as fast"], rows, about)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="samples:imagenet", help="folder or name of a data set")
    parser.add_argument("--rounds", type=int, default=9, help="measurements of each way")
    show(measure(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
