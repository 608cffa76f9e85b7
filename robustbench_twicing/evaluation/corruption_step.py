"""Conditions that show other images in place of the clean ones: score them as they are."""

from collections.abc import Mapping
from typing import Any

import torch

from ..classifiers.classifier import Classifier
from ..conditions.condition import Condition
from ..data.loader import LoadedBatch, pixels_hash, to_tensor
from ..errors import BrokenAttackError
from .rows import Outcome, Rows, score, scored

Known = Mapping[int, dict[str, Any]]
"""Position in the data set to what is known of the clean image: identity, label, clean scores."""


def among_known(batch: LoadedBatch, known: Known) -> LoadedBatch:
    """A condition's images without those whose clean image could not be read."""
    kept = [row for row, index in enumerate(batch.indices) if index in known]
    indices = tuple(batch.indices[row] for row in kept)
    absent = tuple(each for each in batch.absent if each.position in known)
    return batch._replace(indices=indices, pixels=batch.pixels[kept], absent=absent)


def show(
    classifier: Classifier,
    device: torch.device,
    condition: Condition,
    known: Known,
    batch: LoadedBatch,
) -> Rows:
    """Score the images of a batch; logits that are not finite are error rows.

    Args:
        classifier: on its device.
        device: of the classifier.
        condition: whose images they are.
        known: of every image of the batch.
        batch: from the condition's source.

    Returns:
        One row per image of the batch, with its own pixels' hash.
    """
    rows = [
        known[index] | {"pixels_sha256": pixels_hash(pixels)}
        for index, pixels in zip(batch.indices, batch.pixels, strict=True)
    ]
    y = torch.tensor([row["target"] for row in rows], device=device)
    try:
        with torch.no_grad():
            logits = classifier(to_tensor(batch.pixels, device))
        outcome = Outcome(score(logits, y))
    except BrokenAttackError as error:
        outcome = Outcome(None, message=str(error))
    return scored(rows, condition, outcome)
