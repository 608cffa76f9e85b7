"""analysis.json: which networks, weights and images the numbers beside it are of."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..classifiers.classifier import Classifier
from ..classifiers.device import choose_device
from ..conditions.condition import CLEAN, Condition
from ..data.dataset import Dataset
from ..evaluation.options import Options
from ..files.atomic import write_atomically
from ..files.printable import one_line
from ..records.session import describe_environment

FILE = "analysis.json"
LeftOut = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Label to condition, empty for the images as they are, to image, to why it is not there."""


def describe(
    models: Mapping[str, Classifier],
    data: Dataset,
    options: Options,
    *,
    settings: Mapping[str, Any],
    left_out: LeftOut,
    conditions: Sequence[Condition] = (),
    pictures: Sequence[str] = (),
) -> dict[str, Any]:
    """The record as plain values.

    Args:
        models: by label.
        data: the images.
        options: how it was computed, in float32.
        settings: what was measured, as the user chose it.
        left_out: label -> id of the condition, empty for the images as they are -> image -> why
            it could not be decoded or made.
        conditions: under which the images were shown again.
        pictures: names of the PNG files that lie beside the record.
    """
    return {
        "models": {label: _model(model) for label, model in models.items()},
        "dataset": {
            "name": data.name,
            "source": data.source,
            "fingerprint": data.fingerprint,
            "limit_seed": data.limit_seed,
            "flags": list(data.flags),
            "notes": list(data.notes),
            "images": list(data.ids),
        },
        "settings": dict(settings),
        "precision": "float32",
        "batch_size": options.batch_size,
        "conditions": [_condition(condition) for condition in conditions],
        "left_out": {
            label: {
                under or CLEAN: dict(images) for under, images in by_condition.items() if images
            }
            for label, by_condition in left_out.items()
            if any(by_condition.values())
        },
        "pictures": list(pictures),
        "environment": describe_environment(choose_device(options.device)),
    }


def _model(model: Classifier) -> dict[str, Any]:
    record = model.record
    return {
        "model": record.model,
        "family": record.family,
        "checkpoint": record.checkpoint,
        "checkpoint_sha256": record.checkpoint_sha256,
        "weights": record.weights,
        "weights_sha256": record.weights_sha256,
        "flags": list(record.flags),
        "notes": list(record.notes),
        "preprocessing": asdict(model.preprocessing),
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "id": condition.id,
        "protocol": condition.protocol,
        "settings": dict(condition.settings),
        "images": None if condition.images is None else condition.images.describe(),
        "code_sha256": condition.code_sha256,
    }


def save(described: Mapping[str, Any], folder: Path) -> Path:
    """Write the record beside the tables; its path.

    Raises:
        UserError: it cannot be written.
    """
    text = json.dumps(described, indent=1, ensure_ascii=False) + "\n"
    path = folder / FILE
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    return path


def left_out_lines(left_out: LeftOut) -> Iterator[str]:
    """What is to be known of images that are not in the numbers of a condition.

    Args:
        left_out: as for `describe`.
    """
    for label, by_condition in left_out.items():
        for under, images in by_condition.items():
            if under and images:
                noun = "image is" if len(images) == 1 else "images are"
                reason = next(iter(images.values()))
                yield f"{label} under {under}: {len(images)} {noun} left out: {one_line(reason)}"
