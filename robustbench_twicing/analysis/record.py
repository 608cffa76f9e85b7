"""analysis.json: which networks, weights and images the numbers beside it are of."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..classifiers.classifier import Classifier
from ..classifiers.device import choose_device
from ..data.dataset import Dataset
from ..evaluation.options import Options
from ..files.atomic import write_atomically
from ..records.environment import describe_environment

FILE = "analysis.json"


def describe(
    models: Mapping[str, Classifier],
    data: Dataset,
    options: Options,
    *,
    settings: Mapping[str, Any],
    left_out: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """The record as plain values.

    Args:
        models: by label.
        data: the images.
        options: how it was computed, in float32.
        settings: what was measured, as the user chose it.
        left_out: label -> image -> why it could not be decoded.
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
        "left_out": {label: dict(images) for label, images in left_out.items() if images},
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


def save(described: Mapping[str, Any], folder: Path) -> Path:
    """Write the record beside the tables; its path.

    Raises:
        UserError: it cannot be written.
    """
    text = json.dumps(described, indent=1, ensure_ascii=False) + "\n"
    path = folder / FILE
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    return path
