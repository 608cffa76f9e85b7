"""Time and peak memory of `report` and `compare` over many records.

    python benchmarks/report_speed.py [--labels 2] [--images 2000] [--folder FOLDER] [--shards 8]
        [--corruptions]

Makes run folders, one a label or a shard, whose records are seeded random numbers: 111 conditions
(clean, and FGSM, PGD and SPSA at many budgets) on every image, in the files of a finished run. Then
measures, each in a process of its own: a bare start of the command line, and the commands named.
`--labels 7 --images 50000` are 39 million records, as many as an evaluation of seven models on
ImageNet's validation images; ready-made runs in a folder that is given are used again. With
`--corruptions` there are 100 conditions as a whole evaluation has them: clean, three attacks at
eight budgets, ImageNet-C's 15 corruptions.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import ATTACKS
from attacks.corruptions import corruption_condition
from benchmarks.table import Table, show
from robustbench_twicing.conditions.budgets import parse_budgets
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.imagenet_c import MAIN
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.evaluation.options import WHOLE, Shard
from robustbench_twicing.files.printable import count
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.compaction import compact
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import DatasetRecord, Evaluation, Manifest
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import RECORD_SCHEMA

CLASSES = 1000
ATTACKED = ("fgsm", "pgd", "spsa")


class Measured(NamedTuple):
    """Of one process: seconds by the clock and of the processor, and its largest memory in MiB."""

    seconds: float
    cpu: float
    mib: float


def conditions(*, corruptions: bool) -> list[Condition]:
    """Clean and 110 attacked ones, or 24 attacked and 75 corrupted ones."""
    if corruptions:
        corrupted = [corruption_condition(name, level) for name in MAIN for level in range(1, 6)]
        eighths = parse_budgets("1/255:8/255:1/255")
        attacked = [ATTACKS[name].condition(eps) for name in ATTACKED for eps in eighths]
        return [clean(), *attacked, *corrupted]
    budgets = {"fgsm": "0.25/255:10/255:0.25/255", "pgd": "0.25/255:10/255:0.25/255"}
    budgets["spsa"] = "0.25/255:7.5/255:0.25/255"
    return [
        clean(),
        *(ATTACKS[name].condition(eps) for name in budgets for eps in parse_budgets(budgets[name])),
    ]


def make_run(
    path: Path,
    label: str,
    n_images: int,
    seed: int,
    part_size: int,
    attacked: list[Condition],
    shard: Shard = WHOLE,
) -> None:
    """One label under all conditions, or a shard of it."""
    record = ModelRecord(label, "deit", "x.pth", label, "plain", label)
    data = DatasetRecord("val", "files", n_images, "x", "", CLASSES)
    preprocessing = Preprocessing(224, 256, mean=(0.0,) * 3, std=(1.0,) * 3)
    counts = {condition.key: n_images for condition in attacked}
    evaluation = Evaluation(label, record, preprocessing, data, counts)
    manifest = Manifest((evaluation,), tuple(attacked), 0, part_size)
    folder = RunFolder.create_or_continue(path, manifest)
    # A severity fools as often as so many 255ths.
    strength = np.array([_severity(condition) or float(condition.eps) for condition in attacked])
    for part in shard.parts(folder.missing(evaluation)):
        images = np.arange(part * part_size, min((part + 1) * part_size, n_images))
        table = make_records(label, attacked, strength, images, seed)
        costs = {condition.key: Cost(len(images), len(images), 1.0) for condition in attacked}
        folder.write_part(evaluation, part, PartRecords(table, costs))
    compact(folder, evaluation, lambda: False, shard.count)


def _severity(condition: Condition) -> float:
    """In 255ths; 0 of what is not corrupted."""
    return int(condition.id.rpartition("/")[2]) / 255 if "imagenet-c/" in condition.id else 0.0


def make_records(
    label: str, attacked: Sequence[Condition], eps: np.ndarray[Any, Any], images: Any, seed: int
) -> pa.Table:
    """Records of one part, image by image as `evaluate_part` gives them.

    An image is as hard for one model as for another, give or take a little, and breaks where
    the budget passes what it bears; so two models differ on some images, not on most.
    """
    number, count = len(images), len(attacked)
    ease = np.random.default_rng([7, int(images[0])]).exponential(4 / 255, number) - 1 / 255
    generator = np.random.default_rng([seed, int(images[0])])
    ease = ease + generator.normal(0, 0.4 / 255, number)
    rank = np.clip(np.ceil(255 * (eps[:, None] - ease[None])), 0, CLASSES - 1).astype(np.int32)
    target = np.resize(images % CLASSES, (count, number))
    loss = 0.7 + rank + generator.random((count, number))
    shared = {
        "index": images.astype(np.int32),
        "target": (images % CLASSES).astype(np.int32),
        "clean_prediction": ((images + rank[0]) % CLASSES).astype(np.int32),
        "clean_rank": rank[0],
        "clean_loss": loss[0],
        "gradient": generator.random(number) + 1e-3,
    }
    scored: dict[str, Any] = {name: np.tile(values, count) for name, values in shared.items()}
    scored |= {"rank": rank.ravel(), "loss": loss.ravel(), "linf": np.repeat(eps, number)}
    scored["l2"] = scored["linf"] * np.sqrt(3 * 224**2)
    scored["l0"] = np.where(scored["linf"] > 0, 224**2, 0).astype(np.int32)
    scored["prediction"] = ((target + rank) % CLASSES).ravel().astype(np.int32)
    rows = count * number
    in_sample = np.tile(images % 8 == 0, count)
    codes = np.tile(np.arange(number, dtype=np.int32), count)
    names = {
        "image": [f"n01440764/ILSVRC2012_val_{index:08d}.JPEG" for index in images],
        "pixels_sha256": [
            f"{index * 0x9E3779B97F4A7C15 % 2**64:016x}" for index in images.tolist()
        ],
    }
    columns: dict[str, Any] = scored | {
        "rank_8bit": pa.array(scored["rank"], pa.int32(), mask=~in_sample),
        **{name: pa.DictionaryArray.from_arrays(codes, values) for name, values in names.items()},
        **{
            name: pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [value])
            for name, value in {"label": label, "dataset": "val", "protocol": "pixel"}.items()
        },
        "condition": pa.DictionaryArray.from_arrays(
            np.repeat(np.arange(count, dtype=np.int32), number),
            [condition.id for condition in attacked],
        ),
        "status": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["ok"]),
    }
    arrays = [
        pa.nulls(rows, field.type)
        if field.name not in columns
        else pa.array(columns[field.name]).cast(field.type)
        for field in RECORD_SCHEMA
    ]
    by_condition = pa.Table.from_arrays(arrays, schema=RECORD_SCHEMA)
    return by_condition.take(np.arange(rows).reshape(count, number).T.ravel())


def run(*arguments: str) -> Measured:
    """Run the command line in a process of its own (on Linux), its output thrown away."""
    script = (
        "import re, sys, time\n"
        "from pathlib import Path\n"
        "from robustbench_twicing.cli.app import main\n"
        "status = main(sys.argv[1:])\n"
        # Not getrusage: its peak starts at that of the process that forked this one.
        "peak = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())\n"
        "sys.stderr.write(f'{status} {peak[1]} {time.process_time()}')\n"
    )
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    status, peak, cpu = done.stderr.splitlines()[-1].split()
    if status != "0":
        raise SystemExit(f"{' '.join(arguments)} ended with {status}: {done.stderr}")
    return Measured(time.perf_counter() - start, float(cpu), int(peak) / 1024)


def measure(
    *,
    labels: int = 2,
    images: int = 2000,
    part_size: int = 128,
    shards: int = 1,
    folder: Path | None = None,
    corruptions: bool = False,
) -> Iterator[Table]:
    """One table."""
    evaluated = conditions(corruptions=corruptions)
    with tempfile.TemporaryDirectory() as temporary:
        root = folder or Path(temporary)
        runs = list[Path]()
        for number, index in product(range(labels), range(1, shards + 1)):
            runs.append(root / f"model{number}" / (str(index) if shards > 1 else ""))
            shard = Shard(index, shards)
            make_run(runs[-1], f"model{number}", images, number, part_size, evaluated, shard)
        files = [file.stat().st_size for path in runs for file in path.rglob("part-*")]
        rows = []
        names, out = [str(path) for path in runs], Path(temporary)
        for name, command in _commands(names, out, compared=labels > 1).items():
            measured = run(*command)
            figures = f"{measured.seconds:.2f}", f"{measured.cpu:.2f}", f"{measured.mib:.0f}"
            rows.append([name, *figures])
        size = (Path(temporary) / "page" / "index.html").stat().st_size
    records = labels * images * len(evaluated)
    place = count(len(runs), "folder")
    about = f"{records:,} records in {place}, parts of {part_size} images, "
    about += f"{len(files)} files of {sum(files) / records:.1f} bytes a record; a process each. "
    about += f"The page of {len(evaluated)} conditions has {size / 1e6:.1f} MB."
    yield Table("Reports", ["command", "seconds", "CPU s", "peak MiB"], rows, about)


def _commands(folders: list[str], out: Path, *, compared: bool) -> dict[str, list[str]]:
    page = str(out / "page")
    commands = {
        "start of the command line": ["report", "--help"],
        "report": ["report", *folders, "--out", str(out / "report")],
        "report --preset table1": ["report", *folders, "--preset", "table1"],
        "report --format html": ["report", *folders, "--format", "html", "--out", page],
    }
    if compared:
        commands["compare"] = ["compare", *folders]
        commands["compare --out"] = ["compare", *folders, "--out", str(out / "compared")]
    return commands


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=2)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--part-size", type=int, default=128)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--corruptions", action="store_true")
    show(measure(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
