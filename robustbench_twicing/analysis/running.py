"""Measures of all images of a data set, batch by batch; what is kept is numbers alone."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ..classifiers.classifier import Classifier
from ..classifiers.device import choose_device, is_out_of_memory
from ..classifiers.gradient import eval_mode
from ..classifiers.precision import full_fp32
from ..classifiers.probe import LayerTensor, Look, probe
from ..conditions.condition import Condition
from ..data.dataset import Dataset
from ..errors import UserError
from ..evaluation.options import Options
from ..evaluation.progress import Report, silent
from ..files.printable import count
from .attention_maps import KeptMaps, MapChoice
from .measures import Measure
from .showing import Shown, shown_images


class Measured(NamedTuple):
    """What was measured of one model, on the images as they are or under one condition.

    Attributes:
        tables: by measure: ``image``, its keys and its numbers, one row of each image.
        left_out: id of an image that could not be decoded or made -> why.
        flags: of the condition, and what was noticed while the network was attacked.
        crops: id of an image whose maps of attention are kept, in the table ``maps`` -> uint8
            pixels (H, W, 3) that the network saw.
    """

    tables: Mapping[str, pd.DataFrame]
    left_out: Mapping[str, str]
    flags: Sequence[str] = ()
    crops: Mapping[str, NDArray[np.uint8]] = MappingProxyType({})


def measure_images(
    label: str,
    model: Classifier,
    data: Dataset,
    measures: Mapping[str, Measure],
    options: Options,
    maps: MapChoice | None = None,
    *,
    conditions: Sequence[Condition] = (),
    report: Report = silent,
) -> dict[str, Measured]:
    """Show a network all images, and measure its layers meanwhile.

    Args:
        label: for the report.
        model: supported by `probe`; it is moved to the device and stays there.
        data: images; their labels are used by attacks alone.
        measures: by name.
        options: how it is computed: ``device``, ``batch_size``, ``workers``, ``on_bad_image``,
            and for conditions ``seed``.
        maps: which maps of attention are kept; none unless given.
        conditions: attacks and corruptions, under which the images are shown again; see
            `shown_images`.
        report: told of every batch.

    Returns:
        By id of the condition, in order; first, under an empty one, of the images as they are.

    Raises:
        BadImageError: an image that cannot be decoded, unless such images are left out.
        UserError: a network that is not supported, memory that does not hold a batch, or no image
            at all under some condition.
    """
    tensors = [name for measure in measures.values() for name in measure.tensors]
    tensors += ["weights"] if maps is not None else []
    flags = {"": (), **{condition.id: _flags(condition) for condition in conditions}}
    collected = {
        under: _Collected(measures, of_condition, KeptMaps(model, maps) if maps else None)
        for under, of_condition in flags.items()
    }
    device = choose_device(options.device)
    model.to(device)
    with (
        full_fp32(device),
        eval_mode(model),
        closing(shown_images(label, model, data, conditions, options, report=report)) as batches,
    ):
        for shown in batches:
            look = collected[shown.under].begin(shown)
            if len(shown.images):
                # The hooks are there for this pass alone: an attack's passes show nothing.
                with torch.inference_mode(), probe(model, tensors, look):
                    _forward(model, shown.pixels)
    return {under: measured.finish(label, under) for under, measured in collected.items()}


def joined(measured: Sequence[Measured]) -> Measured:
    """What was measured of one model under one condition, when its images were shown several times.

    Args:
        measured: with different measures.
    """
    tables, left_out = dict[str, pd.DataFrame](), dict[str, str]()
    crops = dict[str, NDArray[np.uint8]]()
    for of_pass in measured:
        tables |= of_pass.tables
        left_out |= of_pass.left_out
        crops |= of_pass.crops
    flags = dict.fromkeys(flag for of_pass in measured for flag in of_pass.flags)
    return Measured(tables, left_out, tuple(flags), crops)


def _flags(condition: Condition) -> list[str]:
    """As results.csv has them."""
    constants = [f"{name}={condition.settings[name]}" for name in condition.changed]
    return [*condition.flags, *constants]


class _Collected:
    """Numbers of all images, as they are or under one condition.

    Args:
        measures: by name.
        flags: known before anything is measured.
        maps: where maps of attention go, if any are kept.
    """

    def __init__(
        self, measures: Mapping[str, Measure], flags: Sequence[str], maps: KeptMaps | None
    ) -> None:
        self._columns = {name: _Columns(measure) for name, measure in measures.items()}
        self._maps = maps
        self._left_out: dict[str, str] = {}
        self._flags = dict.fromkeys(flags)

    def begin(self, shown: Shown) -> Look:
        """Note what is known of a batch before it is looked at."""
        self._left_out |= shown.left_out
        self._flags |= dict.fromkeys(shown.flags)
        for columns in self._columns.values():
            columns.images = shown.images
        if self._maps is not None:
            self._maps.begin(shown.images, shown.pixels)
        return self._look

    def _look(self, seen: LayerTensor) -> None:
        for columns in self._columns.values():
            columns.look(seen)
        if self._maps is not None:
            self._maps.look(seen)

    def finish(self, label: str, under: str) -> Measured:
        """What was measured.

        Raises:
            UserError: there was no image.
        """
        if not any(columns.has_images for columns in self._columns.values()):
            reasons = list(self._left_out.values())[:1]
            what = (
                f"{label} under {under}: no image could be made"
                if under
                else "no image could be decoded"
            )
            raise UserError(": ".join([f"{what}, so there is nothing to analyse", *reasons]))
        tables = {name: columns.table() for name, columns in self._columns.items()}
        crops = {}
        if self._maps is not None:
            tables["maps"], crops = self._maps.table(), self._maps.crops
        return Measured(tables, self._left_out, tuple(self._flags), crops)


def _forward(model: Classifier, pixels: torch.Tensor) -> None:
    try:
        model(pixels)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(
            f"memory of {pixels.device} does not hold {count(len(pixels), 'image')} of "
            f"{model.record.model} with what is measured; take a smaller --batch-size"
        ) from error


class _Columns:
    """Columns of numbers, by the key that says of what they are.

    Attributes:
        images: ids of the batch that is looked at.
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.images: Sequence[str] = ()
        self._ids: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._numbers: dict[tuple[str, ...], dict[str, list[NDArray[Any]]]] = {}

    @property
    def has_images(self) -> bool:
        """Whether anything was measured."""
        return bool(self._numbers)

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
        return pd.concat(tables, ignore_index=True)
