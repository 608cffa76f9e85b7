"""Passes through a network: what its checks add, and what survivors mode saves.

    python -m benchmarks.passes [--model NAME=FILE] [--data DIR] [--limit 100] [--batch 32]

Passes are counted, not timed. What the checks add depends on the number of images and the batch
size alone; what survivors mode saves, on how early the images of a network fall.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from torch import Tensor, nn

from benchmarks.table import Table, show
from benchmarks.timing import arguments
from reports import results
from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.cli.api_inputs import open_data
from robustbench_twicing.cli.options.evaluation import EvalOptions
from robustbench_twicing.cli.request.conditions import make_conditions, read_conditions
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.evaluation.runner import Options, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task


class Counter:
    """Counts the images that go through a network, forward and backward."""

    def __init__(self, network: nn.Module) -> None:
        self.passes = 0
        network.register_forward_hook(self._forward)

    def _forward(self, module: nn.Module, inputs: object, logits: Tensor) -> None:
        self.passes += len(logits)
        if logits.requires_grad:
            logits.register_hook(self._backward)  # type: ignore[no-untyped-call]

    def _backward(self, gradient: Tensor) -> None:
        self.passes += len(gradient)


class Subject(NamedTuple):
    """A network, images, and how many of them stand in a batch."""

    classifier: Classifier
    data: Dataset
    batch: int

    def evaluate(self, conditions: Sequence[Condition], *, survivors: bool = False) -> pd.DataFrame:
        """The rows of results.csv."""
        options = Options(batch_size=self.batch, survivors=survivors)
        models = {self.classifier.record.model: self.classifier}
        with tempfile.TemporaryDirectory() as folder:
            task = make_task(self.data, conditions)
            done = evaluate_models(models, [task], out=Path(folder) / "run", options=options)
            return results(done.folder)

    @property
    def title(self) -> str:
        """What a table is of."""
        return f"{self.classifier.record.model}, {len(self.data)} images, batch {self.batch}"


def measure(
    *,
    model: str = "fmnist_deit=bundled",
    data: str = "fashion-mnist:test1000",
    limit: int = 100,
    batch: int = 32,
) -> Iterator[Table]:
    """One table of the checks, one of survivors mode."""
    name, _, checkpoint = model.partition("=")
    images = open_data(data, limit=limit, seed=0, num_classes=None)
    subject = Subject(load_model(name, checkpoint=checkpoint), images, batch)
    yield _checks(subject)
    yield _survivors(subject._replace(classifier=load_model(name, checkpoint=checkpoint)))


def _checks(subject: Subject) -> Table:
    """Passes that no condition is charged with, over all others."""
    counter = Counter(subject.classifier.network)
    rows = subject.evaluate(_suite("quick"))
    charged = _passes(rows)
    checks = counter.passes - charged
    flags = sorted({flag for cell in rows["flags"] for flag in cell.split(";") if flag})
    return Table(
        f"Passes of the checks of a network ({subject.title})",
        ["passes of", "number", "share"],
        [
            ["conditions", str(charged), "1.000"],
            ["checks", str(checks), f"{checks / charged:.4f}"],
        ],
        f"Suite quick. Flags: {', '.join(flags) or 'none'}.",
    )


def _survivors(subject: Subject) -> Table:
    """Passes of a run in survivors mode over those of a full run."""
    conditions = [one for one in _suite("pixel") if one.attack != "spsa"]
    passes = {
        "full": _passes(subject.evaluate(conditions)),
        "survivors": _passes(subject.evaluate(conditions, survivors=True)),
    }
    return Table(
        f"Passes of survivors mode ({subject.title})",
        ["mode", "passes", "share"],
        [[mode, str(count), f"{count / passes['full']:.3f}"] for mode, count in passes.items()],
        "Suite pixel without SPSA, forward and backward, clean and 8-bit scores included.",
    )


def _suite(name: str) -> list[Condition]:
    return make_conditions(read_conditions(EvalOptions(suite=name)))


def _passes(rows: pd.DataFrame) -> int:
    return int(rows["n_forward"].sum() + rows["n_backward"].sum())


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
