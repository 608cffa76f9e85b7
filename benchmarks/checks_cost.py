"""What the checks of a network cost: passes that no condition is charged with, over all others.

    python -m benchmarks.checks_cost [--model NAME=FILE] [--data DIR] [--limit N] [--batch-size N]

A pass of the checks costs what any other does, so that their numbers are compared; they depend on
the number of images and the batch size, not on the network.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from torch import Tensor, nn

from benchmarks.table import Table
from reports import results
from robustbench_twicing import load_model
from robustbench_twicing.cli.api_inputs import open_data
from robustbench_twicing.cli.request.conditions import make_conditions, read_conditions
from robustbench_twicing.cli.request.options import EvalOptions
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


def measure(
    model: str = "fmnist_deit=bundled",
    data: str = "fashion-mnist:test1000",
    images: int = 100,
    batch: int = 32,
) -> Iterator[Table]:
    """Evaluate once under the quick suite and count the passes."""
    name, _, checkpoint = model.partition("=")
    classifier = load_model(name, checkpoint=checkpoint)
    counter = Counter(classifier.network)
    dataset = open_data(data, limit=images, seed=0, num_classes=None)
    task = make_task(dataset, make_conditions(read_conditions(EvalOptions(suite="quick"))))
    with tempfile.TemporaryDirectory() as folder:
        out, options = Path(folder) / "run", Options(batch_size=batch)
        rows = results(evaluate_models({name: classifier}, [task], out=out, options=options).folder)
    charged = int(rows["n_forward"].sum() + rows["n_backward"].sum())
    checks = counter.passes - charged
    flags = sorted({flag for cell in rows["flags"] for flag in cell.split(";") if flag})
    yield Table(
        f"Passes of the checks of a network ({name}, {images} images, batch {batch})",
        ["passes of", "number", "share"],
        [
            ["conditions", str(charged), "1.000"],
            ["checks", str(checks), f"{checks / charged:.4f}"],
        ],
        f"Suite quick. Flags: {', '.join(flags)}.",
    )


def main() -> None:
    """Print the table for a model and data."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="fmnist_deit=bundled")
    parser.add_argument("--data", default="fashion-mnist:test1000")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=32)
    asked = parser.parse_args()
    for table in measure(asked.model, asked.data, asked.limit, asked.batch_size):
        print(table.markdown())


if __name__ == "__main__":
    main()
