"""Rows of the record: one per image and condition."""

from typing import Any, NamedTuple

from torch import Tensor

from .batches import LoadedBatch, pixels_hash
from .conditions import Condition
from .data import Dataset
from .records import Status
from .scoring import Scores

Rows = list[dict[str, Any]]
"""Columns of `RECORD_SCHEMA` by name; absent where there is no value."""


class Outcome(NamedTuple):
    """Scores, distances and ranks after rounding to 8 bits; or why there are none."""

    scores: Scores | None
    distance: Tensor | None
    rank_8bit: Tensor | None = None
    message: str = ""


def facts(label: str, data: Dataset, batch: LoadedBatch) -> Rows:
    """What is known of each decoded image before any attack."""
    return [
        _identity(label, data, index) | {"pixels_sha256": pixels_hash(pixels)}
        for index, pixels in zip(batch.indices, batch.pixels, strict=True)
    ]


def _identity(label: str, data: Dataset, index: int) -> dict[str, Any]:
    return {
        "label": label,
        "dataset": data.name,
        "index": index,
        "image": data.ids[index],
        "target": data.labels[index],
    }


def scored(facts: Rows, condition: Condition, outcome: Outcome) -> Rows:
    """One row per decoded image: its scores, or why there are none."""
    about = {"protocol": condition.protocol, "condition": condition.id}
    if outcome.scores is None or outcome.distance is None:
        failed = {"status": Status.ERROR.value, "message": outcome.message}
        return [row | about | failed for row in facts]
    scores, distance = outcome.scores, outcome.distance
    rounded = scores.rank if outcome.rank_8bit is None else outcome.rank_8bit
    values = zip(*(each.tolist() for each in (*scores, distance, rounded)), strict=True)
    names = ("prediction", "rank", "loss", "linf", "rank_8bit")
    return [
        row | about | dict(zip(names, value, strict=True)) | {"status": Status.OK.value}
        for row, value in zip(facts, values, strict=True)
    ]


def skipped(label: str, data: Dataset, batch: LoadedBatch, condition: Condition) -> Rows:
    """One row per image that could not be decoded, with the reason."""
    about = {"protocol": condition.protocol, "condition": condition.id}
    status = {"status": Status.SKIPPED.value}
    return [
        _identity(label, data, bad.position) | about | status | {"message": str(bad.error)}
        for bad in batch.unreadable
    ]
