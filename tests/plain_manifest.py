"""The least that a manifest says, whole enough to be read back."""

from dataclasses import replace

from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.manifest import DatasetRecord, Evaluation


def plain_evaluation(
    label: str, images: int, conditions: dict[str, int], *, data: str = "data"
) -> Evaluation:
    """One model on so many images."""
    return Evaluation(
        label,
        ModelRecord("m"),
        Preprocessing(crop=8, resize=8),
        DatasetRecord(data, "made up", images, "made up", "made up", 5),
        conditions,
    )


def plain_condition(name: str) -> Condition:
    """An unattacked condition of that id."""
    return replace(clean(), id=name)
