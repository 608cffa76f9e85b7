"""Does a variant of attention help, over images and over seeds? The zoo's models, every seed.

    python examples/zoo_seeds.py RUN --trainings runs/zoo > docs/zoo_seeds.md

Evaluates every training of `make zoo` on the 1,000 bundled images, or goes on with that, and prints
the page. Without --trainings RUN is a finished run folder, whose labels end in " seed 0",
" seed 1", .... Each model is set against the baseline of its family.

Two kinds of chance are shown. Over images: the difference is averaged over seeds for each image,
and images are drawn again (percentile bootstrap, 10,000 draws). Over seeds: the difference of each
seed by itself. A model is called better or worse only where the interval leaves out zero and all
seeds have its sign.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from glob import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import bootstrap

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from robustbench_twicing.checkpoints.bundled import ZOO
from robustbench_twicing.cli.app import main as run_command
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records.run_folder import RunFolder

BASELINES = {"fmnist_fan_twicing": "fmnist_fan"}
"""Other than the first model of the run."""
DRAWS = 10_000
CONDITIONS = (
    *("--data", "fashion-mnist:test1000", "--attacks", "clean,fgsm,pgd", "--eps", "2/255,4/255"),
    *("--batch-size", "100", "--threads", "1", "--device", "cpu"),
)


class Difference(NamedTuple):
    """A model minus its baseline, in percentage points.

    Attributes:
        mean: over images and seeds.
        low: lower bound of the 95 % interval over images.
        high: upper bound.
        seeds: of each seed.
    """

    mean: float
    low: float
    high: float
    seeds: tuple[float, ...]

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.low > 0 and min(self.seeds) > 0:
            return "better"
        if self.high < 0 and max(self.seeds) < 0:
            return "worse"
        return "no difference shown"


def evaluate(trainings: Path, out: Path) -> None:
    """Every model with every seed under clean, FGSM and PGD; continues what is there."""
    options = []
    for name in ZOO:
        for folder in sorted(trainings.glob(f"{escape(name)}-seed*")):
            seed = folder.name.rpartition("-seed")[2]
            options += ["--model", f"{name}={folder / 'model.safetensors'}"]
            options += ["--label", f"{name} seed {seed}"]
    with redirect_stdout(sys.stderr):
        status = run_command(["eval", *options, *CONDITIONS, "--out", str(out)])
    if status:
        raise SystemExit(status)


def right_by_image(records: pd.DataFrame, model: str, condition: str) -> NDArray[np.float64]:
    """Whether each image is right (1 or 0), one row for each seed: (seeds, images)."""
    rows = records[(records["model"] == model) & (records["condition"] == condition)]
    table = rows.pivot(index="seed", columns="index", values="rank")
    if table.isna().to_numpy().any():
        raise SystemExit(f"{model} {condition}: not every image was scored with every seed")
    right: NDArray[np.float64] = (table.to_numpy() == 0).astype(np.float64)
    return right


def difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> Difference:
    """``second`` minus ``first``, both (seeds, images)."""
    points = 100 * (second - first)
    by_image = points.mean(0)
    result = bootstrap(
        (by_image,), np.mean, n_resamples=DRAWS, method="percentile", rng=np.random.default_rng(0)
    )
    low, high = result.confidence_interval
    return Difference(by_image.mean(), low, high, tuple(points.mean(1).tolist()))


def read(path: Path) -> pd.DataFrame:
    """Records of a complete run, with columns for model and seed."""
    run = Run(RunFolder.open(path))
    if not run.complete:
        raise SystemExit(f"{path} is incomplete; run its eval again")
    records = run.records()
    parts = records["label"].astype(str).str.extract(r"^(?P<model>.*) seed (?P<seed>\d+)$")
    if parts.isna().to_numpy().any():
        raise SystemExit(f'{path}: every label has to end in " seed N"')
    return records.assign(model=parts["model"], seed=parts["seed"].astype(int))


def accuracies(records: pd.DataFrame, models: Sequence[str]) -> Iterator[str]:
    """Lines of the table of accuracies: mean over seeds, and the lowest and highest seed."""
    conditions = list(records["condition"].unique())
    yield "| model | " + " | ".join(conditions) + " |"
    yield "| --- |" + " ---: |" * len(conditions)
    for model in models:
        cells = []
        for condition in conditions:
            seeds = 100 * right_by_image(records, model, condition).mean(1)
            cells.append(f"{seeds.mean():.1f} ({seeds.min():.1f}-{seeds.max():.1f})")
        yield f"| `{model}` | " + " | ".join(cells) + " |"


def differences(records: pd.DataFrame, models: Sequence[str]) -> Iterator[str]:
    """Lines of the table of differences."""
    yield "| model | against | condition | points | 95 % over images | each seed | |"
    yield "| --- | --- | --- | ---: | ---: | ---: | --- |"
    for model in models[1:]:
        baseline = BASELINES.get(model, models[0])
        for condition in records["condition"].unique():
            sides = (right_by_image(records, side, condition) for side in (baseline, model))
            points = difference(*sides)
            seeds = ", ".join(f"{of_seed:+.1f}" for of_seed in points.seeds)
            yield (
                f"| `{model}` | `{baseline}` | {condition} | {points.mean:+.2f} | "
                f"{points.low:+.2f} to {points.high:+.2f} | {seeds} | {points.verdict} |"
            )


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument("--trainings", type=Path, help="folder that make zoo trained in")
    asked = parser.parse_args()
    if asked.trainings is not None:
        evaluate(asked.trainings, asked.run)
    records = read(asked.run)
    models = list(records["model"].unique())
    seeds, images = records["seed"].nunique(), records["index"].nunique()
    print("# The zoo over seeds\n")
    print(
        f"{len(models)} models, {seeds} seeds, {images:,} images, protocol pixel. Written by\n"
        "`make zoo-seeds`; nothing in it is typed by hand.\n"
    )
    print("## Accuracy in %, mean over seeds (lowest-highest seed)\n")
    print("\n".join(accuracies(records, models)))
    print("\n## Difference to the baseline of the family\n")
    print("\n".join(differences(records, models)))
    print(
        "\nOver images: bootstrap of the images, each with its mean over seeds. A word of better "
        "or worse\nneeds an interval without zero and all seeds of one sign; with so many rows, "
        "about one in twenty\nintervals leaves out zero by chance."
    )


if __name__ == "__main__":
    main()
