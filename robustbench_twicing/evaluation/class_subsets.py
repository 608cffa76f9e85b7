"""The clean forward pass scored over a class subset, without another pass.

ImageNet-A over all 1000 logits beside its own 200; clean images of ImageNet-A's 200 classes over
these 200 logits. The network answers once; what it answered is ranked once more.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from ..classifiers.classifier import Classifier
from ..conditions.condition import Condition
from ..conditions.distances import no_distances
from ..data.dataset import Dataset
from ..data.imagenet import ClassList, subset_indices
from ..records.schema import RECORD_SCHEMA
from .rows import Columns, Outcome, as_clean, right_in_draws, score, score_rows, take


@cache
def _positions(classes: ClassList) -> dict[int, int]:
    """Class index 0 to 999 to its position in the list."""
    return {index: position for position, index in enumerate(subset_indices(classes))}


def class_index(data: Dataset, image: int) -> int:
    """The class 0 to 999 of an image, whatever its label counts; the first, if it has several."""
    label = data.labels[image]
    return label if data.space is None else data.space.logits[label][0]


def is_counted(data: Dataset, condition: Condition, image: int) -> bool:
    """Whether a condition is about an image; over a class subset, only images of these are."""
    subset = condition.class_subset
    return subset is None or class_index(data, image) in _positions(subset)


def count_images(data: Dataset, condition: Condition) -> int:
    """How many of the images a condition is about."""
    if condition.class_subset is None:
        return len(data)
    return sum(is_counted(data, condition, image) for image in range(len(data)))


@contextmanager
def network_logits(classifier: Classifier) -> Iterator[list[Tensor]]:
    """The network's own logits (N, 1000) of every forward pass inside, before labels are made.

    Nothing is recorded of a classifier whose logits are the network's own.
    """
    answers: list[Tensor] = []
    if classifier.select is None:
        yield answers
        return

    def keep(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        answers.append(inputs[0].detach())

    handle = classifier.select.register_forward_pre_hook(keep)
    try:
        yield answers
    finally:
        handle.remove()


def subset_rows(
    condition: Condition,
    data: Dataset,
    indices: Sequence[int],
    draws: Sequence[Tensor],
    fields: Columns,
) -> pa.Table:
    """Rows of some images over a class subset.

    Args:
        condition: says over which classes.
        data: the images.
        indices: positions of these images in the data set.
        draws: the network's own logits (N, 1000), of each of its draws.
        fields: what is known of each image.
    """
    if condition.class_subset is None:
        raise ValueError(f"{condition.id} has no class subset")
    position = _positions(condition.class_subset)
    rows = [row for row, image in enumerate(indices) if is_counted(data, condition, image)]
    if not rows:
        return RECORD_SCHEMA.empty_table()
    labels = [position[class_index(data, indices[row])] for row in rows]
    chosen = [logits[rows][:, list(position)] for logits in draws]
    y = torch.tensor(labels, device=chosen[0].device)
    scores, draws_right = score(chosen[0], y), right_in_draws(chosen, y)
    known = take(fields, rows) | {"target": np.array(labels, np.int64)} | as_clean(scores)
    outcome = Outcome(scores, no_distances(len(rows)), draws_right=draws_right)
    return score_rows(known, condition, outcome)
