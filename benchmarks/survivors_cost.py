"""What survivors mode costs: passes of the whole run over those of a full run.

    python -m benchmarks.survivors_cost [--model NAME=FILE] [--data DIR] [--limit N] ...

Suite pixel without SPSA, clean and 8-bit scores included. The ratio depends on how early the images
of a network fall.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Table
from reports import results
from robustbench_twicing import load_model
from robustbench_twicing.cli.api_inputs import open_data
from robustbench_twicing.cli.request.conditions import make_conditions, read_conditions
from robustbench_twicing.cli.request.options import EvalOptions
from robustbench_twicing.evaluation.runner import Options, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task


def measure(
    model: str = "fmnist_deit=bundled",
    data: str = "fashion-mnist:test1000",
    images: int = 100,
    batch: int = 32,
) -> Iterator[Table]:
    """Evaluate in both modes, and add up the passes of all rows of results.csv."""
    name, _, checkpoint = model.partition("=")
    classifier = load_model(name, checkpoint=checkpoint)
    dataset = open_data(data, limit=images, seed=0, num_classes=None)
    conditions = make_conditions(read_conditions(EvalOptions(suite="pixel")))
    task = make_task(dataset, [item for item in conditions if item.attack != "spsa"])
    passes = {}
    for mode, survivors in (("full", False), ("survivors", True)):
        with tempfile.TemporaryDirectory() as folder:
            options = Options(batch_size=batch, survivors=survivors)
            done = evaluate_models(
                {name: classifier}, [task], out=Path(folder) / "run", options=options
            )
            rows = results(done.folder)
        passes[mode] = int(rows["n_forward"].sum() + rows["n_backward"].sum())
    yield Table(
        f"Passes of survivors mode ({name}, {images} images, batch {batch})",
        ["mode", "passes", "share"],
        [[mode, str(count), f"{count / passes['full']:.3f}"] for mode, count in passes.items()],
        "Suite pixel without SPSA, forward and backward, clean and 8-bit scores included.",
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
