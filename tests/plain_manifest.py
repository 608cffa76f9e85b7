"""The least that a manifest says, whole enough to be read back."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.evaluation.manifest import describe_condition
from robustbench_twicing.records.manifest import Evaluation

RECORD: Mapping[str, Any] = {
    **dict.fromkeys(("model", "family", "checkpoint", "checkpoint_sha256"), "m"),
    **dict.fromkeys(("weights", "weights_sha256"), "m"),
    **{"notes": [], "flags": [], "details": {}},
}
PREPROCESSING: Mapping[str, Any] = {
    **{"crop": 8, "resize": 8, "interpolation": "bicubic"},
    **dict.fromkeys(("mean", "std"), [0.5] * 3),
}
DATA: Mapping[str, Any] = {
    **dict.fromkeys(("source", "fingerprint", "labelling"), "made up"),
    **{"num_classes": 5, "notes": [], "flags": [], "skipped": []},
}


def plain_evaluation(
    label: str, images: int, conditions: dict[str, int], *, data: str = "data"
) -> Evaluation:
    """One model on so many images."""
    about = {"name": data, "n_images": images, **DATA}
    return Evaluation(label, dict(RECORD), dict(PREPROCESSING), about, conditions)


def plain_condition(name: str) -> dict[str, Any]:
    """An unattacked condition of that id."""
    values: dict[str, Any] = describe_condition(replace(clean(), id=name))
    return values
