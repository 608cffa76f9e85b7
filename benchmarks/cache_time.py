"""Images per second from files, and from a warm --cache, read in alternation.

    python benchmarks/cache_time.py [--data samples:imagenet] [--rounds 9]

Every crop from the cache is compared with the decoded one. 256/224 pixels, bicubic.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from robustbench_twicing.data import Dataset, open_dataset
from robustbench_twicing.data.crop_cache import cache_crops
from robustbench_twicing.preprocessing import Preprocessing

PREPROCESSING = Preprocessing(crop=224, resize=256)


def read(data: Dataset) -> tuple[float, list[bytes]]:
    """Seconds to read every image, and what was read."""
    began = time.perf_counter()
    crops = [data.pixels(index, PREPROCESSING) for index in range(len(data))]
    return time.perf_counter() - began, [crop.tobytes() for crop in crops]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="samples:imagenet", help="folder or name of a data set")
    parser.add_argument("--rounds", type=int, default=9, help="measurements of each way")
    asked = parser.parse_args()
    files = open_dataset(asked.data)
    with tempfile.TemporaryDirectory() as folder:
        cached = cache_crops(files, Path(folder))
        read(cached)
        seconds: dict[str, list[float]] = {"files": [], "warm cache": []}
        equal = True
        for _ in range(asked.rounds):
            pairs = [read(data) for data in (files, cached)]
            equal &= pairs[0][1] == pairs[1][1]
            for name, (taken, _crops) in zip(seconds, pairs, strict=True):
                seconds[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    print(f"{len(files)} images of {files.name}")
    for name, taken in medians.items():
        faster = medians["files"] / taken
        print(f"{name:12} {len(files) / taken:10.0f} images/s {faster:8.1f} x")
    print(f"bitwise equal: {'yes' if equal else 'NO'}")


if __name__ == "__main__":
    main()
