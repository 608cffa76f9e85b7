"""Time until `eval` says how far a run is that was begun, over `import torch, timm`.

    python -m benchmarks.start_time [--labels 2] [--images 2000] [--rounds 3] [--folder FOLDER]

Makes files of images, checkpoints, and the finished run of them under 111 conditions, whose records
are seeded random numbers. Then starts the `eval` of that run again, a process each: with nothing
remembered; as often as asked with what that one remembered; and without the last part, until it
says what is left. `--labels 7 --images 50000` is an evaluation of seven models on ImageNet's
validation images; what was made in a folder that is given is used again.
"""

import argparse
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.report_speed import conditions, make_records
from benchmarks.table import Table, show
from robustbench_twicing.cli.options.evaluation import EvalOptions
from robustbench_twicing.cli.request.request import make_request
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.data.loader import pixels_hash
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.evaluation.manifest import make_manifest
from robustbench_twicing.evaluation.tasks import RunRequest
from robustbench_twicing.evaluation.validation import check_request
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.resolve import resolve_model
from robustbench_twicing.records.compaction import compact
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder

MODEL = "deit_small_patch16_224"
PART_SIZE = 128
SAMPLES = 20
"""Different pictures."""
SAID = "images are"
"""In what `eval` says of a run that was begun."""
TAIL = 8
"""Random bytes at the end of every file, to tell those of one size apart."""


def make_images(folder: Path, images: int) -> None:
    """Files named as ImageNet's, about as large, in folders of wnids; few contents, many holes."""
    samples = open_dataset("samples:imagenet")
    pictures = []
    for index in range(SAMPLES):
        stream = io.BytesIO()
        samples.images.picture(index).resize((256, 256)).save(stream, "JPEG", quality=40)
        pictures.append(stream.getvalue())
    generator = np.random.default_rng(0)
    sizes = generator.lognormal(np.log(110_000), 0.5, images).astype(int)
    names = wnids()
    for name in names:
        (folder / name).mkdir(parents=True)
    for index, size in enumerate(sizes.tolist()):
        picture = pictures[index % SAMPLES]
        path = folder / names[index % len(names)] / f"ILSVRC2012_val_{index:08d}.JPEG"
        with path.open("wb") as file:
            file.write(picture)
            file.seek(max(size, len(picture)))
            file.write(generator.bytes(TAIL))


def make_weights(path: Path, seed: int) -> None:
    """A checkpoint of its own for every label."""
    spec = resolve_model(MODEL)
    torch.manual_seed(seed)
    torch.save({"model": build_model(spec.family, **spec.sizes).state_dict()}, path)


def make_suite(path: Path) -> None:
    """The conditions of `benchmarks.report_speed`, clean ones first."""
    lines = ["conditions:", "- attack: clean"]
    for condition in conditions(corruptions=False)[1:]:
        lines.append(f'- {{attack: {condition.attack}, eps: ["{condition.eps}"]}}')
    path.write_text("\n".join(lines) + "\n")


def make_records_of(folder: RunFolder, pixels: Sequence[str]) -> None:
    """Every image of every label under all conditions, in the files of a finished run."""
    for number, evaluation in enumerate(folder.manifest.evaluations):
        evaluated = folder.manifest.conditions_of(evaluation)
        strength = np.array([float(condition.eps) for condition in evaluated])
        for part in folder.missing(evaluation):
            start = part * PART_SIZE
            images = np.arange(start, min(start + PART_SIZE, evaluation.dataset.n_images))
            table = make_records(evaluation.label, list(evaluated), strength, images, number)
            hashes = np.repeat([pixels[image] for image in images.tolist()], len(evaluated))
            position = table.column_names.index("pixels_sha256")
            column = pa.array(hashes).cast(table.schema.field(position).type)
            table = table.set_column(position, table.schema.field(position), column)
            costs = {one.key: Cost(len(images), len(images), 1.0) for one in evaluated}
            folder.write_part(evaluation, part, PartRecords(table, costs))
        compact(folder, evaluation, lambda: False)


def make_run(options: EvalOptions, out: Path) -> None:
    """The folder that `eval` with these options would have made."""
    request = make_request(options)
    manifest = make_manifest(
        RunRequest(request.models, request.tasks, out, request.options),
        classes=check_request(request.models, request.tasks),
        part_size=PART_SIZE,
        device="cpu",
    )
    (task,) = request.tasks
    preprocessing = next(iter(request.models.values())).preprocessing
    known = dict[int, str]()  # the pictures take turns along the names of the files
    pixels = list[str]()
    for index, name in enumerate(task.data.ids):
        kind = int(name[-13:-5]) % SAMPLES
        if kind not in known:
            known[kind] = pixels_hash(task.data.pixels(index, preprocessing))
        pixels.append(known[kind])
    make_records_of(RunFolder.create_or_continue(out, manifest), pixels)


class Started(NamedTuple):
    """Seconds by the clock, and of the processor, until something was said."""

    seconds: float
    cpu: float


def until(words: str, command: Sequence[str], cache: Path, *, whole: bool = False) -> Started:
    """Time a process until a line with these words stands on its standard error; then end it.

    ``cache`` is the folder of what is remembered; with ``whole`` the process goes on to its end.

    Raises:
        RuntimeError: it ended without these words.
    """
    started, lines, begun = None, list[str](), time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=Path(__file__).resolve().parent.parent,
        env=os.environ | {"ROBUSTBENCH_TWICING_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stderr or ():
            lines.append(line)
            if words in line and started is None:
                used = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
                ticks = int(used[11]) + int(used[12])
                started = Started(time.perf_counter() - begun, ticks / os.sysconf("SC_CLK_TCK"))
                if not whole:
                    process.kill()
    if started is None:
        raise RuntimeError(f"{command} did not say {words!r}: {''.join(lines)}")
    return started


def times(command: Sequence[str], run: Path, cache: Path, rounds: int) -> dict[str, list[Started]]:
    """By what is started, the times of each round."""
    says = "import sys, time, torch, timm; print('ready', file=sys.stderr, flush=True)"
    first = until(SAID, command, cache, whole=True)
    evaluated, imported, left = list[Started](), list[Started](), list[Started]()
    last = sorted((run / "parts").rglob("*.parquet"))[-1]
    aside = last.with_suffix(".aside")
    for _ in range(rounds):
        imported.append(until("ready", ["-c", says], cache))
        evaluated.append(until(SAID, command, cache))
        last.rename(aside)
        try:
            left.append(until(SAID, command, cache))
        finally:
            aside.rename(last)
    return {
        "import torch, timm": imported,
        "eval, nothing remembered": [first],
        "eval, finished": evaluated,
        "eval, the last file of parts missing": left,
    }


def measure(
    *, labels: int = 2, images: int = 2000, rounds: int = 3, folder: Path | None = None
) -> Iterator[Table]:
    """One table."""
    with tempfile.TemporaryDirectory() as temporary:
        root = folder or Path(temporary)
        options = make_inputs(root, labels, images)
        run = root / "run"
        if not run.is_dir():
            make_run(options, run)
        weights = zip(options.model, options.label, strict=True)
        named = [word for model, label in weights for word in ("-m", model, "--label", label)]
        command = ["run_eval.py", "eval", *named, "--data", options.data[0], "--out", str(run)]
        command += ["--suite", str(options.suite), "--device", "cpu"]
        taken = times(command, run, Path(temporary) / "cache", rounds)
    yield Table(
        "Starting again",
        ["process", "seconds", "CPU s", "CPU s more"],
        list(_rows(taken)),
        f"{labels} models, {images:,} images, 111 conditions; until `eval` says how far the run "
        f"is, median of {rounds}.",
    )


def _rows(taken: Mapping[str, Sequence[Started]]) -> Iterator[list[str]]:
    floor = statistics.median(one.cpu for one in taken["import torch, timm"])
    for name, ones in taken.items():
        seconds, cpu = (statistics.median(times) for times in zip(*ones, strict=True))
        yield [name, f"{seconds:.2f}", f"{cpu:.2f}", f"{cpu - floor:.2f}"]


def make_inputs(root: Path, labels: int, images: int) -> EvalOptions:
    """Images, checkpoints and conditions, unless they are there; the options that name them."""
    data, suite = root / "val", root / "suite.yaml"
    if not data.is_dir():
        make_images(data, images)
    make_suite(suite)
    weights = [root / f"{number}.pth" for number in range(labels)]
    for seed, path in enumerate(weights):
        if not path.exists():
            make_weights(path, seed)
    return EvalOptions(
        model=[f"{MODEL}={path}" for path in weights],
        label=[f"model{number}" for number in range(labels)],
        data=[str(data)],
        suite=str(suite),
        device="cpu",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("labels", 2), ("images", 2000), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path)
    show(measure(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
