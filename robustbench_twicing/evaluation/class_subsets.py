"""The clean forward pass scored over a class subset, without another pass.

ImageNet-A over all 1000 logits beside its own 200; clean images of ImageNet-A's 200 classes over
these 200 logits. The network answers once; what it answered is ranked once more.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import pyarrow as pa
import torch
from torch import Tensor, nn

from ..classifiers.classifier import Classifier
from ..conditions.condition import Condition
from ..conditions.distances import no_distances
from ..data.dataset import Dataset, padded
from ..data.imagenet import ClassList, subset_indices
from ..records.schema import RECORD_SCHEMA
from .rows import Columns, Outcome, as_clean, right_in_draws, score, score_rows, take


@cache
def _positions(classes: ClassList) -> dict[int, int]:
    """Class index 0 to 999 to its position in the list."""
    return {index: position for position, index in enumerate(subset_indices(classes))}


def right_positions(data: Dataset, image: int, subset: ClassList) -> tuple[int, ...]:
    """Positions of an image's right classes in a list, ascending; none, if it lists none of them.

    Of the classes 0 to 999 that one label stands for, the first is meant.
    """
    labels, position = data.right(image), _positions(subset)
    if data.space is not None:
        labels = tuple(data.space.logits[label][0] for label in labels)
    return tuple(position[label] for label in labels if label in position)


def is_counted(data: Dataset, condition: Condition, image: int) -> bool:
    """Whether a condition is about an image; over a class subset, only images of these are."""
    subset = condition.class_subset
    return subset is None or bool(right_positions(data, image, subset))


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
    subset = condition.class_subset
    rows = [row for row, image in enumerate(indices) if is_counted(data, condition, image)]
    if not rows:
        return RECORD_SCHEMA.empty_table()
    labels = padded([right_positions(data, indices[row], subset) for row in rows])
    chosen = [logits[rows][:, list(_positions(subset))] for logits in draws]
    y = torch.from_numpy(labels)
    scores, draws_right = score(chosen[0], y), right_in_draws(chosen, y)
    known = take(fields, rows) | {"target": labels[:, 0]} | as_clean(scores)
    outcome = Outcome(scores, no_distances(len(rows)), draws_right=draws_right)
    return score_rows(known, condition, outcome)
