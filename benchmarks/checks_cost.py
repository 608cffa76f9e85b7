"""What the checks of a network cost: passes that no condition is charged with, over all others.

    python -m benchmarks.checks_cost [--model NAME=FILE] [--data DIR] [--limit N] [--batch-size N]

A pass of the checks costs what any other does, so that their numbers are compared; they depend on
the number of images and the batch size, not on the network.
"""

import argparse
import tempfile
from pathlib import Path

from torch import Tensor, nn

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


def main() -> None:
    """Evaluate once under the quick suite and print the passes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="fmnist_deit=bundled")
    parser.add_argument("--data", default="fashion-mnist:test1000")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=32)
    asked = parser.parse_args()
    name, _, checkpoint = asked.model.partition("=")
    model = load_model(name, checkpoint=checkpoint)
    counter = Counter(model.network)
    data = open_data(asked.data, limit=asked.limit, seed=0, num_classes=None)
    task = make_task(data, make_conditions(read_conditions(EvalOptions(suite="quick"))))
    with tempfile.TemporaryDirectory() as folder:
        options = Options(batch_size=asked.batch_size)
        done = evaluate_models({name: model}, [task], out=Path(folder) / "run", options=options)
        table = results(done.folder)
    charged = int(table["n_forward"].sum() + table["n_backward"].sum())
    checks = counter.passes - charged
    share = f"{checks / charged:.2%}"
    print(f"{len(data)} images: {charged} passes of conditions, {checks} of checks, {share}")
    print("flags:", sorted({flag for cell in table["flags"] for flag in cell.split(";") if flag}))


if __name__ == "__main__":
    main()
