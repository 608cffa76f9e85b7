"""Images from tar archives and Parquet files: how soon they are open, and how fast decoded.

    python benchmarks/forms_time.py [--images 50000] [--rounds 9]

The photographs of samples:imagenet are decoded from files and from archives in alternation, and
compared; 256/224 pixels, bicubic. Opening is timed with as many small pictures as asked for, in one
tar archive and in 14 Parquet files: with nothing known of them, and once their index is kept.
"""

import argparse
import io
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.table import Table, show
from benchmarks.timing import measured
from robustbench_twicing.classifiers.timing import median_ratio
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing

PREPROCESSING = Preprocessing(crop=224, resize=256)
FILES, SHARDS = "files", 14


class Picture(NamedTuple):
    """One image of a data set: its name below the root, its bytes, its class."""

    name: str
    content: bytes
    label: int


def write_files(pictures: Sequence[Picture], folder: Path) -> Path:
    """Class folders."""
    for name, content, _ in pictures:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def write_tar(pictures: Sequence[Picture], path: Path) -> Path:
    """An archive of class folders."""
    with tarfile.open(path, "w") as tar:
        for name, content, _ in pictures:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def write_parquet(pictures: Sequence[Picture], folder: Path) -> Path:
    """Files in the form of Hugging Face: 100 images a row group."""
    folder.mkdir()
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    size = -(-len(pictures) // SHARDS)
    for shard in range(SHARDS):
        part = pictures[shard * size : (shard + 1) * size]
        images = [{"bytes": content, "path": name} for name, content, _ in part]
        labels = pa.array([item.label for item in part], pa.int64())
        table = pa.table({"image": pa.array(images, kind), "label": labels})
        pq.write_table(
            table, folder / f"val-{shard:05d}-of-{SHARDS:05d}.parquet", row_group_size=100
        )
    return folder


def read(data: Dataset) -> dict[str, bytes]:
    """Every image, by its name."""
    return {name: data.pixels(i, PREPROCESSING).tobytes() for i, name in enumerate(data.ids)}


def photographs() -> list[Picture]:
    """Those of samples:imagenet, five times over."""
    data = open_dataset("samples:imagenet")
    pictures = []
    for copy in range(5):
        for index, label in enumerate(data.labels):
            stream = io.BytesIO()
            data.images.picture(index).save(stream, "JPEG", quality=95)
            name = f"{wnids()[label]}/{copy}_{index}.JPEG"
            pictures.append(Picture(name, stream.getvalue(), label))
    return sorted(pictures)


def small_pictures(count: int) -> list[Picture]:
    """So many, of all classes, of 8 pixels."""
    stream = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stream, "JPEG")
    names = [f"{wnids()[i % 1000]}/ILSVRC2012_val_{i + 1:08d}.JPEG" for i in range(count)]
    return [Picture(name, stream.getvalue(), i % 1000) for i, name in enumerate(names)]


def decoding(folder: Path, rounds: int) -> Table:
    """Images per second from every form."""
    pictures = photographs()
    forms = {
        FILES: write_files(pictures, folder / "files"),
        "tar": write_tar(pictures, folder / "photographs.tar"),
        "Parquet": write_parquet(pictures, folder / "parquet"),
    }
    data = {form: open_dataset(path) for form, path in forms.items()}
    expected = read(data[FILES])
    equal = all(read(dataset) == expected for dataset in data.values())
    ways: dict[str, Callable[[], object]] = {form: partial(read, data[form]) for form in data}
    seconds = measured(ways, rounds)
    rows = [
        [form, f"{len(pictures) / median(taken):.0f}", f"{median_ratio(seconds[FILES], taken):.2f}"]
        for form, taken in seconds.items()
    ]
    about = (
        f"{len(pictures)} photographs, decoded, resized to 256 and cropped to 224; median of "
        f"{rounds}. Bitwise equal: {'yes' if equal else 'NO'}."
    )
    return Table("Decoding from archives", ["from", "images/s", "rate of files"], rows, about)


def opening(folder: Path, images: int) -> Table:
    """Seconds to a data set with its fingerprint."""
    pictures = small_pictures(images)
    forms = {
        "one tar": write_tar(pictures, folder / "small.tar"),
        f"{SHARDS} Parquet files": write_parquet(pictures, folder / "small"),
    }
    rows = []
    for form, path in forms.items():
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            data = open_dataset(path)
            _ = data.fingerprint
            seconds.append(time.perf_counter() - start)
        rows.append([form, *(f"{taken:.1f}" for taken in seconds)])
    about = f"{images:,} small pictures, to the fingerprint; in seconds."
    return Table("Opening archives", ["form", "the first time", "later"], rows, about)


def measure(*, images: int = 50_000, rounds: int = 9) -> Iterator[Table]:
    """Two tables."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("ROBUSTBENCH_TWICING_CACHE")
        os.environ["ROBUSTBENCH_TWICING_CACHE"] = f"{folder}/cache"
        try:
            yield decoding(Path(folder), rounds)
            yield opening(Path(folder), images)
        finally:
            if before is None:
                del os.environ["ROBUSTBENCH_TWICING_CACHE"]
            else:
                os.environ["ROBUSTBENCH_TWICING_CACHE"] = before


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=50_000, help="small pictures to open")
    parser.add_argument("--rounds", type=int, default=9, help="measurements of each way")
    show(measure(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
