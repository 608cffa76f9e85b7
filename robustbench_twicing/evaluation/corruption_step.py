"""Conditions that show other images in place of the clean ones: score them as they are."""

import numpy as np
import pyarrow as pa
import torch

from ..conditions.condition import Condition
from ..data.loader import LoadedBatch, pixels_hash, to_tensor
from ..errors import BrokenAttackError
from ..seeds import network_draws
from .rows import Columns, Outcome, right_in_draws, score, score_rows, take
from .tasks import Context


def with_clean_image(batch: LoadedBatch, fields: Columns) -> LoadedBatch:
    """A condition's images without those whose clean image could not be read."""
    clean = set(fields["index"].tolist()) if fields else set()
    rows = [row for row, index in enumerate(batch.indices) if index in clean]
    return batch._replace(
        indices=tuple(batch.indices[row] for row in rows),
        pixels=batch.pixels[rows],
        absent=tuple(image for image in batch.absent if image.position in clean),
    )


def score_corrupted(
    context: Context,
    condition: Condition,
    fields: Columns,
    device: torch.device,
    batch: LoadedBatch,
) -> pa.Table:
    """Score the images of a batch; logits that are not finite are error rows.

    Args:
        context: see `Context`.
        condition: whose images they are.
        fields: what is known of the clean images, of every image of the batch among them.
        device: of the classifier.
        batch: from the condition's source.

    Returns:
        One row per image of the batch, with its own pixels' hash.
    """
    position = {index: row for row, index in enumerate(fields["index"].tolist())}
    known = take(fields, [position[index] for index in batch.indices])
    known["pixels_sha256"] = np.array([pixels_hash(pixels) for pixels in batch.pixels], object)
    y = torch.from_numpy(context.data.right_labels(batch.indices))
    images, x = known["image"].tolist(), to_tensor(batch.pixels, device)
    try:
        with torch.no_grad(), network_draws(context.seed, images, condition.key):
            draws = [context.classifier(x) for _ in range(context.draws)]
        scores, draws_right = score(draws[0], y, images), right_in_draws(draws, y, images)
        outcome = Outcome(scores, draws_right=draws_right)
    except BrokenAttackError as error:
        outcome = Outcome(None, message=str(error))
    return score_rows(known, condition, outcome)
