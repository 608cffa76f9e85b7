"""From what the network answered to rows of the record: one per image and condition."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..classifiers.label_layers import best_placed
from ..conditions.ball import affected
from ..conditions.condition import Condition
from ..conditions.distances import Distances
from ..data.dataset import Dataset
from ..data.decoding import BadImageError
from ..data.loader import Absent, LoadedBatch, pixels_hash
from ..errors import BrokenAttackError, MissingImageError
from ..files.printable import one_line
from ..records.schema import RECORD_SCHEMA, Status

FIELDS = tuple((field.name, field.type) for field in RECORD_SCHEMA)
Columns = dict[str, NDArray[Any]]
"""Columns of `RECORD_SCHEMA` by name, all of one length; without those that have no value."""


class Scores(NamedTuple):
    """One value per image, on the CPU.

    Attributes:
        prediction: class with the largest logit (N,), int64.
        rank: how many classes come before the true one (N,), int64; 0 is top-1 correct, below 5
            is top-5 correct. Among equal logits the lower class index comes first.
        loss: cross-entropy of the true class (N,), float64.

    Of several right classes the best placed is the true one.
    """

    prediction: Tensor
    rank: Tensor
    loss: Tensor


def score(logits: Tensor, y: Tensor, images: Sequence[str] = ()) -> Scores:
    """Score logits (N, K) against class indices (N,), or (N, M) of which any is right.

    Args:
        logits: of the network, or of the labels of a data set.
        y: the true classes, as `Dataset.right_labels` has them.
        images: ids of the images, for messages.

    Raises:
        BrokenAttackError: logits that are not finite; they cannot be ranked.
    """
    if not torch.isfinite(logits).all():
        where = affected(~torch.isfinite(logits), images)
        raise BrokenAttackError(f"the model's logits are not finite (NaN or infinity){where}")
    logits = logits.detach().double().cpu()
    y = best_placed(logits, y.cpu())
    true = logits.gather(1, y[:, None])
    earlier = torch.arange(logits.shape[1])[None] < y[:, None]
    rank = ((logits > true) | ((logits == true) & earlier)).sum(1)
    prediction = (logits == logits.amax(1, keepdim=True)).int().argmax(1)
    return Scores(prediction, rank, cross_entropy(logits, y, reduction="none"))


def right_in_draws(draws: Sequence[Tensor], y: Tensor, images: Sequence[str] = ()) -> Tensor | None:
    """In which of several draws of a network each image is right (N,): bit d is that of draw d.

    Args:
        draws: logits (N, K) of each; of a single one there is nothing to add to its scores.
        y: the true classes.
        images: ids of the images, for messages.

    Raises:
        BrokenAttackError: as `score`.
    """
    if len(draws) == 1:
        return None
    bits = torch.zeros(len(y), dtype=torch.int64)
    for draw, logits in enumerate(draws):
        bits |= (score(logits, y, images).rank == 0).long() << draw
    return bits


class Outcome(NamedTuple):
    """Scores, distances and ranks after rounding to 8 bits; or why there are none.

    Images that were not attacked have no distance; in 8 bits they are what they are. Of those that
    were, ``rank_8bit`` (N,) has None where an image was not scored once more. ``radius`` (N,) is
    the distance that an attack has found, float64; ``goal`` (N,) the class that one wants, int64;
    ``draws_right`` (N,) is that of `right_in_draws`.
    """

    scores: Scores | None
    distances: Distances | None = None
    rank_8bit: NDArray[np.object_] | None = None
    message: str = ""
    radius: Tensor | None = None
    goal: Tensor | None = None
    draws_right: Tensor | None = None


def clean_fields(label: str, data: Dataset, batch: LoadedBatch) -> Columns:
    """What is known of each decoded image before the network has seen it."""
    hashes = [pixels_hash(pixels) for pixels in batch.pixels]
    return {**_identity(label, data, batch.indices), "pixels_sha256": np.array(hashes, object)}


def _identity(label: str, data: Dataset, indices: Sequence[int]) -> Columns:
    return {
        "label": np.array([label] * len(indices), object),
        "dataset": np.array([data.name] * len(indices), object),
        "index": np.array(indices, np.int64),
        "image": np.array([data.ids[index] for index in indices], object),
        "target": np.array([data.labels[index] for index in indices], np.int64),
    }


def as_clean(scores: Scores) -> Columns:
    """Scores of the clean images, as columns that every condition's rows carry."""
    names = ("clean_prediction", "clean_rank", "clean_loss")
    return {name: tensor.numpy() for name, tensor in zip(names, scores, strict=True)}


def take(columns: Columns, rows: Sequence[int]) -> Columns:
    """Some rows, by their positions."""
    return {name: values[list(rows)] for name, values in columns.items()}


def joined(pieces: Sequence[Columns]) -> Columns:
    """The rows of all pieces of a batch; None where a piece lacks a column that others have."""
    names = dict.fromkeys(name for piece in pieces for name in piece)
    return {name: np.concatenate([_values(piece, name) for piece in pieces]) for name in names}


def _values(columns: Columns, name: str) -> NDArray[Any]:
    return columns.get(name, np.full(len(columns["index"]), None, object))


def in_arrow(columns: Columns) -> dict[str, pa.Array]:
    """The columns as a table holds them, for rows of many conditions that share them."""
    count = len(columns["index"])
    return {name: _column(columns[name], kind, count) for name, kind in FIELDS if name in columns}


def score_rows(
    fields: Columns | Mapping[str, pa.Array], condition: Condition, outcome: Outcome
) -> pa.Table:
    """One row per decoded image: its scores, or why there are none.

    Args:
        fields: what is known of the clean images; `in_arrow` where other conditions share it.
        condition: that the images were scored under.
        outcome: one value per image, in the same order.
    """
    if outcome.scores is None:
        return _table(fields, condition, Status.ERROR.value, one_line(outcome.message))
    scores = outcome.scores
    given = {name: getattr(outcome, name) for name in ("goal", "draws_right")}
    some = {name: tensor for name, tensor in given.items() if tensor is not None}
    tensors: dict[str, Tensor] = {**scores._asdict(), **some, "rank_8bit": scores.rank}
    if outcome.distances is not None:
        tensors |= outcome.distances._asdict()
    scored: Columns = {name: tensor.numpy() for name, tensor in tensors.items()}
    if outcome.rank_8bit is not None:
        scored["rank_8bit"] = outcome.rank_8bit
    if outcome.radius is not None:
        clean_rank = np.asarray(fields["clean_rank"])
        scored["radius"] = _radius(clean_rank, scores.rank.numpy(), outcome.radius)
    return _table({**fields, **scored}, condition, Status.OK.value, None)


WITNESSED = ("prediction", "rank", "loss", "linf", "l2", "l0", "rank_8bit", "goal", "witness")
"""Columns of an image that is not attacked, which are those of the attack that has fooled it."""


def inherited_rows(
    fields: Columns, condition: Condition, witnesses: Sequence[Mapping[str, Any]]
) -> pa.Table:
    """One row per image that is not attacked, since it is fooled.

    Args:
        fields: what is known of the clean images.
        condition: under which they are not attacked.
        witnesses: `WITNESSED` of each.
    """
    values = {name: np.array([row[name] for row in witnesses], object) for name in WITNESSED}
    return _table(fields | values, condition, Status.INHERITED.value, None)


def _radius(clean_rank: NDArray[Any], rank: NDArray[Any], distance: Tensor) -> NDArray[np.float64]:
    """0 where the network was wrong before, infinite where it is right on what was found."""
    return np.where(clean_rank > 0, 0.0, np.where(rank > 0, distance.numpy(), np.inf))


def absent_rows(
    label: str, data: Dataset, absent: Sequence[Absent], condition: Condition
) -> pa.Table:
    """One row per image that is not there, with the reason."""
    fields = _identity(label, data, [image.position for image in absent])
    statuses = [_status(image.error).value for image in absent]
    return _table(fields, condition, statuses, [one_line(image.reason) for image in absent])


def _status(error: Exception) -> Status:
    if isinstance(error, BadImageError):
        return Status.SKIPPED
    return Status.MISSING if isinstance(error, MissingImageError) else Status.ERROR


def _table(
    columns: Mapping[str, Any],
    condition: Condition,
    status: str | Sequence[str],
    message: str | Sequence[str] | None,
) -> pa.Table:
    """Rows of `RECORD_SCHEMA`; a single status or message is that of all of them."""
    count = len(columns["index"])
    same = {"protocol": condition.protocol, "condition": condition.id}
    given: Mapping[str, Any] = {**columns, **same, "status": status, "message": message}
    arrays = [_column(given.get(name), kind, count) for name, kind in FIELDS]
    return pa.table(arrays, schema=RECORD_SCHEMA)


def _column(values: Any, kind: pa.DataType, count: int) -> pa.Array:
    if values is None:
        return pa.nulls(count, kind)
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, str):
        return pa.repeat(pa.scalar(values, kind), count)
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = values.tolist()
    return pa.array(values, kind)
