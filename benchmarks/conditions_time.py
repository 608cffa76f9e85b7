"""What one image costs under each condition of the suite.

    python benchmarks/conditions_time.py [--images 2] [--rounds 1] [--threads N]

DeiT-tiny at 224 px with random weights on sample photographs. Attacks are timed as `eval` charges
them to a condition: the attack, its check, and two passes that score it. A corruption is the time
to make the image, JPEG included, and one pass. SPSA is timed for one of its steps.
"""

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import ATTACKS
from attacks.corruptions import CORRUPTIONS, GeneratedImages
from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, threads
from reports import results
from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.dataset import Dataset, limit_dataset
from robustbench_twicing.data.image_maker import ImageRequest, Maker
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.evaluation.runner import Options, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task

BUDGET, SEVERITY = Fraction(1, 255), 3


class Charged(NamedTuple):
    """Of one image under one condition: milliseconds, and passes through the network."""

    milliseconds: float
    forward: float
    backward: float


def measure(*, images: int = 2, rounds: int = 1) -> Iterator[Table]:
    """One table for attacks, one for corruptions."""
    model = load_model("deit_tiny_patch16_224", "random:0")
    data = limit_dataset(open_dataset("samples:imagenet"), images)
    charged = [attacked(model, data) for _ in range(rounds)]
    costs = {
        name: Charged(median(of_round[name].milliseconds for of_round in charged), *first[1:])
        for name, first in charged[0].items()
    }
    steps = ATTACKS["spsa"].settings["steps"]
    rows = [
        [name, f"{cost.milliseconds:.0f}", f"{cost.forward:g}", f"{cost.backward:g}"]
        for name, cost in costs.items()
    ]
    kernels = model.record.details["kernels"]
    about = (
        f"DeiT-tiny, {images} images in one batch, {threads()}, kernels {kernels}, median of "
        f"{rounds}; scoring included. SPSA: one of its {steps} steps."
    )
    yield Table("Attacks", ["condition", "ms/image", "forward", "backward"], rows, about)
    yield corrupted(data, costs["clean"].milliseconds, rounds)


def attacked(model: Classifier, data: Dataset) -> dict[str, Charged]:
    """The clean pass and one budget of every attack, as a run charges them."""
    names = ("fgsm", "pgd", "spsa")
    conditions = [ATTACKS[name].condition(BUDGET, overrides=_short(name)) for name in names]
    with TemporaryDirectory() as folder:
        run = evaluate_models(
            {"deit": model},
            [make_task(data, [clean(), *conditions])],
            out=Path(folder) / "run",
            options=Options(batch_size=len(data), device="cpu"),
        )
        rows = results(run.folder).to_dict("records")
    count = len(data)
    return {
        str(row["condition"]): Charged(
            1000 * row["seconds"] / count, row["n_forward"] / count, row["n_backward"] / count
        )
        for row in rows
    }


def _short(name: str) -> dict[str, int]:
    return {"steps": 1} if name == "spsa" else {}


def corrupted(data: Dataset, clean_pass: float, rounds: int) -> Table:
    """Making the images, and the pass that scores them."""
    names = [name for name in CORRUPTIONS if name != "frost"]
    sources = {name: GeneratedImages(name, SEVERITY) for name in names}
    model = load_model("deit_tiny_patch16_224", "random:0")
    maker = Maker(data, model.preprocessing, sources, keep=len(data))
    ways = {
        name: lambda name=name: maker.make(ImageRequest(name, range(len(data)))) for name in names
    }
    seconds = measured(ways, rounds)
    rows = []
    for name, taken in seconds.items():
        making = 1000 * median(taken) / len(data)
        rows.append(
            [f"imagenet-c/{name}/{SEVERITY}", f"{making + clean_pass:.0f}", f"{making:.1f}"]
        )
    about = (
        "The same model and images. Frost is left out: its photographs are a package of its own."
    )
    return Table("Corrupted images", ["condition", "ms/image", "of which making"], rows, about)


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
