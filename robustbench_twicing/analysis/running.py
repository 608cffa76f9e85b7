"""Measures of all images of a data set, batch by batch; what is kept is numbers alone."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ..classifiers.classifier import Classifier
from ..classifiers.device import choose_device, is_out_of_memory
from ..classifiers.probe import LayerTensor, probe
from ..data.dataset import Dataset
from ..data.image_maker import Maker
from ..data.loader import load_batches, to_tensor
from ..errors import UserError
from ..evaluation.options import Options
from ..evaluation.progress import Report, Step, silent
from .measures import Measure


class Measured(NamedTuple):
    """What was measured of one model.

    Attributes:
        tables: by measure: ``image``, its keys and its numbers, one row of each image.
        left_out: id of an image that could not be decoded -> why.
    """

    tables: Mapping[str, pd.DataFrame]
    left_out: Mapping[str, str]


def measure_images(
    label: str,
    model: Classifier,
    data: Dataset,
    measures: Mapping[str, Measure],
    options: Options,
    *,
    report: Report = silent,
) -> Measured:
    """Show a network all images, and measure its layers meanwhile.

    Args:
        label: for the report.
        model: supported by `probe`; it is moved to the device and stays there.
        data: images; their labels are not used.
        measures: by name.
        options: how it is computed: ``device``, ``batch_size``, ``workers``, ``on_bad_image``.
        report: told of every batch.

    Raises:
        BadImageError: an image that cannot be decoded, unless such images are left out.
        UserError: a network that is not supported, memory that does not hold a batch.
    """
    collected = {name: _Columns(measure) for name, measure in measures.items()}
    tensors = list(dict.fromkeys(name for of in measures.values() for name in of.tensors))

    def look(seen: LayerTensor) -> None:
        for columns in collected.values():
            columns.look(seen)

    device = choose_device(options.device)
    model.to(device)
    parts = range(-(-len(data) // options.batch_size))
    left_out: dict[str, str] = {}
    with (
        torch.inference_mode(),
        probe(model, tensors, look),
        closing(
            load_batches(
                Maker(data, model.preprocessing),
                parts,
                batch_size=options.batch_size,
                skip_bad=options.on_bad_image == "skip",
                workers=options.workers,
            )
        ) as batches,
    ):
        for batch in batches:
            left_out |= {data.ids[absent.position]: str(absent.error) for absent in batch.absent}
            for columns in collected.values():
                columns.images = [data.ids[index] for index in batch.indices]
            if batch.indices:
                _forward(model, to_tensor(batch.pixels, device))
            done = len(batch.indices) + len(batch.absent)
            report(Step(label, "", done, done))
    return Measured({name: columns.table() for name, columns in collected.items()}, left_out)


def _forward(model: Classifier, pixels: torch.Tensor) -> None:
    try:
        model(pixels)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(
            f"memory of {pixels.device} does not hold {len(pixels)} images of "
            f"{model.record.model} with what is measured; take a smaller --batch-size"
        ) from error


class _Columns:
    """Columns of numbers, by the key that says of what they are.

    Attributes:
        images: ids of the batch that is looked at.
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.images: list[str] = []
        self._ids: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._numbers: dict[tuple[str, ...], dict[str, list[NDArray[Any]]]] = {}

    def look(self, seen: LayerTensor) -> None:
        """Measure one tensor of the batch, if the measure takes it."""
        if seen.name not in self.measure.tensors:
            return
        for key, numbers in self.measure.rows(seen):
            self._ids[key] += self.images
            columns = self._numbers.setdefault(key, {name: [] for name in numbers})
            for name, values in numbers.items():
                columns[name].append(values.cpu().numpy())

    def table(self) -> pd.DataFrame:
        """All columns, key after key in the order of computation, and images in theirs."""
        tables = [
            pd.DataFrame(
                {
                    "image": self._ids[key],
                    **dict(zip(self.measure.keys, key, strict=True)),
                    **{name: np.concatenate(values) for name, values in numbers.items()},
                }
            )
            for key, numbers in self._numbers.items()
        ]
        if not tables:
            raise UserError("no image could be decoded, so there is nothing to analyse")
        return pd.concat(tables, ignore_index=True)
