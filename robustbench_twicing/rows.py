"""Rows of the record: one per image and condition."""

from typing import Any, NamedTuple

from torch import Tensor

from .conditions.condition import Condition
from .data import BadImageError, Dataset
from .data.loader import LoadedBatch, pixels_hash
from .errors import MissingImageError
from .records import Status
from .scoring import Scores

Rows = list[dict[str, Any]]
"""Columns of `RECORD_SCHEMA` by name; absent where there is no value."""


class Outcome(NamedTuple):
    """Scores, distances and ranks after rounding to 8 bits; or why there are none.

    Images that were not attacked have no distance; in 8 bits they are what they are.
    """

    scores: Scores | None
    distance: Tensor | None = None
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
    if outcome.scores is None:
        failed = {"status": Status.ERROR.value, "message": outcome.message}
        return [row | about | failed for row in facts]
    scores = outcome.scores
    rounded = scores.rank if outcome.rank_8bit is None else outcome.rank_8bit
    columns = {**scores._asdict(), "linf": outcome.distance, "rank_8bit": rounded}
    known = {name: values.tolist() for name, values in columns.items() if values is not None}
    values = [dict(zip(known, value, strict=True)) for value in zip(*known.values(), strict=True)]
    return [
        row | about | value | {"status": Status.OK.value}
        for row, value in zip(facts, values, strict=True)
    ]


def without_scores(label: str, data: Dataset, batch: LoadedBatch, condition: Condition) -> Rows:
    """One row per image that is not there, with the reason."""
    about = {"protocol": condition.protocol, "condition": condition.id}
    return [
        _identity(label, data, each.position)
        | about
        | {"status": _status(each.error).value, "message": str(each.error)}
        for each in batch.absent
    ]


def _status(error: Exception) -> Status:
    if isinstance(error, BadImageError):
        return Status.SKIPPED
    return Status.MISSING if isinstance(error, MissingImageError) else Status.ERROR
