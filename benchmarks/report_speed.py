"""Time and peak memory of `report` over many records.

    python benchmarks/report_speed.py [--records 100000] [--folder FOLDER]

Makes run folders whose records are random numbers: labels, each with 20 conditions on up to 50,000
images in parts of 32, one run folder a label. Then measures, each in a process of its own: a bare
start of the command line, and the commands named. A folder that is given is kept and used again.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import ATTACKS
from benchmarks.table import Table, show
from robustbench_twicing.classifiers.classifier import ModelRecord
from robustbench_twicing.conditions.budgets import parse_budgets
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import DatasetRecord, Evaluation, Manifest
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import RECORD_SCHEMA

BATCH = 32
IMAGES = 50_000


class Measured(NamedTuple):
    """Of one process: seconds by the clock and of the processor, and its largest memory in MiB."""

    seconds: float
    cpu: float
    mib: float


def conditions() -> list[Condition]:
    """Clean, and FGSM and PGD at budgets enough for 20 in all."""
    budgets = parse_budgets("1/255:9/255:1/255")
    attacked = [ATTACKS[name].condition(eps) for name in ("fgsm", "pgd") for eps in budgets]
    return [clean(), *attacked, ATTACKS["pgd"].condition(parse_budgets("10/255")[0])]


def make_run(path: Path, label: str, n_images: int, seed: int) -> None:
    """One label under all conditions."""
    record = ModelRecord(label, "deit", "x.pth", label, "plain", label)
    data = DatasetRecord("val", "files", n_images, "x", "", 1000)
    preprocessing = Preprocessing(224, 256, mean=(0.0,) * 3, std=(1.0,) * 3)
    names = conditions()
    counts = {each.key: n_images for each in names}
    evaluation = Evaluation(label, record, preprocessing, data, counts)
    folder = RunFolder.create_or_continue(path, Manifest((evaluation,), tuple(names), 0, BATCH))
    generator = np.random.default_rng(seed)
    for part in folder.missing(evaluation):
        images = range(part * BATCH, min((part + 1) * BATCH, n_images))
        content = PartRecords(
            pa.table(make_columns(generator, label, names, images), schema=RECORD_SCHEMA),
            {each.key: Cost(len(images), len(images), 1.0) for each in names},
        )
        folder.write_part(evaluation, part, content)


def make_columns(
    generator: np.random.Generator, label: str, names: list[Condition], images: range
) -> dict[str, list[object]]:
    """Records of one part: every column filled."""
    rows = len(images) * len(names)
    columns: dict[str, list[object]] = {}
    for field in RECORD_SCHEMA:
        if pa.types.is_integer(field.type):
            columns[field.name] = generator.integers(0, 10, rows).tolist()
        else:
            columns[field.name] = generator.random(rows).tolist()
    repeated = np.repeat(np.array(images), len(names))
    return columns | {
        "label": [label] * rows,
        "dataset": ["val"] * rows,
        "protocol": ["pixel"] * rows,
        "condition": [each.id for each in names] * len(images),
        "index": repeated.tolist(),
        "target": (repeated % 10).tolist(),
        "image": [f"n01440764/ILSVRC2012_val_{index:08d}.JPEG" for index in repeated],
        "pixels_sha256": [f"{index:016x}" for index in repeated],
        "status": ["ok"] * rows,
        "message": [None] * rows,
    }


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


def measure(*, records: int = 100_000, folder: Path | None = None) -> Iterator[Table]:
    """One table."""
    with tempfile.TemporaryDirectory() as temporary:
        root = folder or Path(temporary)
        images = records // len(conditions())
        runs: list[Path] = []
        while images > 0:
            label = f"model{len(runs)}"
            runs.append(root / label)
            make_run(runs[-1], label, min(images, IMAGES), seed=len(runs))
            images -= IMAGES
        rows = []
        for name, command in _commands([str(path) for path in runs]).items():
            found = run(*command)
            rows.append([name, f"{found.seconds:.2f}", f"{found.cpu:.2f}", f"{found.mib:.0f}"])
    about = f"{records:,} records in {len(runs)} runs, parts of {BATCH} images, a process each."
    yield Table("Reports", ["command", "seconds", "CPU s", "peak MiB"], rows, about)


def _commands(folders: list[str]) -> dict[str, list[str]]:
    commands = {
        "start of the command line": ["report", "--help"],
        "report": ["report", *folders],
        "report --format csv": ["report", *folders, "--format", "csv"],
        "report --preset table1": ["report", *folders, "--preset", "table1"],
    }
    if len(folders) > 1:
        commands["compare"] = ["compare", *folders]
    return commands


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    show(measure(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
