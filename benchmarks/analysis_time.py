"""What an analysis adds to the forward passes of a network.

    python -m benchmarks.analysis_time [--model deit_tiny_patch16_224] [--batch 20] [--rounds 7]

Pixels are there already: decoding, tables and pictures are left out. Random weights, on which the
time does not depend.
"""

from collections.abc import Callable, Iterator

import torch

from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, ratio_table, threads
from robustbench_twicing import load_model
from robustbench_twicing.analysis.measures import Measure, attention, similarity
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.probe import LayerTensor, probe


def way(model: Classifier, pixels: torch.Tensor, *measures: Measure) -> Callable[[], object]:
    """A forward pass in which everything is measured."""
    tensors = [name for chosen in measures for name in chosen.tensors]

    def look(seen: LayerTensor) -> None:
        for chosen in measures:
            if seen.name in chosen.tensors:
                list(chosen.rows(seen))

    def run() -> None:
        with torch.inference_mode(), probe(model, tensors, look):
            model(pixels)

    return run


def measure(
    *, model: str = "deit_tiny_patch16_224", batch: int = 20, rounds: int = 7
) -> Iterator[Table]:
    """One table: forward passes alone, and with each analysis."""
    classifier = load_model(model, "random:0")
    side = classifier.preprocessing.crop
    pixels = torch.rand(batch, 3, side, side)
    ways = {
        "forward passes alone": way(classifier, pixels),
        "similarity, three tensors": way(classifier, pixels, similarity()),
        "similarity and attention": way(classifier, pixels, similarity(), attention()),
    }
    yield ratio_table(
        f"Analysis of {model}",
        measured(ways, rounds),
        list(ways)[:1],
        images=batch,
        about=f"cpu, {threads()}, batch {batch}, median of {rounds}.",
    )


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
