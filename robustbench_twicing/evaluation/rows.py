"""Rows of the record: one per image and condition."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..conditions.condition import Condition
from ..data.dataset import Dataset
from ..data.decoding import BadImageError
from ..data.loader import LoadedBatch, pixels_hash
from ..errors import BrokenAttackError, MissingImageError
from ..records.schema import Status


class Scores(NamedTuple):
    """One value per image, on the CPU.

    Attributes:
        prediction: class with the largest logit (N,), int64.
        rank: how many classes come before the true one (N,), int64; 0 is top-1 correct, below 5
            is top-5 correct. Among equal logits the lower class index comes first.
        loss: cross-entropy of the true class (N,), float64.
    """

    prediction: Tensor
    rank: Tensor
    loss: Tensor


def score(logits: Tensor, y: Tensor) -> Scores:
    """Score logits (N, K) against class indices (N,).

    Raises:
        BrokenAttackError: logits that are not finite; they cannot be ranked.
    """
    if not torch.isfinite(logits).all():
        raise BrokenAttackError("the model's logits are not finite (NaN or infinity)")
    logits, y = logits.detach().double().cpu(), y.cpu()
    true = logits.gather(1, y[:, None])
    earlier = torch.arange(logits.shape[1])[None] < y[:, None]
    rank = ((logits > true) | ((logits == true) & earlier)).sum(1)
    top = logits.max(1, keepdim=True).values
    prediction = (logits == top).int().argmax(1)
    return Scores(prediction, rank, cross_entropy(logits, y, reduction="none"))


def linf(x: Tensor, x_adv: Tensor) -> Tensor:
    """Largest change of any pixel per image (N,), in pixels [0, 1], on the CPU."""
    return (x_adv - x).abs().flatten(1).amax(1).double().cpu()


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
