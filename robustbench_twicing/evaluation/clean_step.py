"""The clean images of a batch: scored once, and the gradient that attacks start from."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import torch
from torch import Tensor

from ..classifiers.classifier import Classifier
from ..classifiers.device import is_out_of_memory
from ..conditions.attack_batch import AttackBatch
from ..conditions.condition import CLEAN, Condition
from ..data.dataset import Dataset
from ..data.loader import LoadedBatch, to_tensor
from ..errors import BrokenAttackError, UserError
from ..files.printable import one_line
from ..records.cost import CostMeter
from ..seeds import network_draws
from .checks.network_guard import NetworkGuard
from .class_subsets import network_logits, subset_rows
from .rows import Columns, Scores, as_clean, clean_fields, right_in_draws, score, take
from .tasks import Context
from .validation import check_classes, network_failure

log = logging.getLogger(__name__)


class CleanBatch(NamedTuple):
    """A batch of which the clean images are scored.

    Attributes:
        indices: positions of the images in the data set.
        attacked: the batch as attacks are given it.
        scores: of the clean images.
        fields: what is known of each image, for all its rows.
        logits: of each draw the network's own, (N, K), before labels of the data set's are made of
            them.
        draws_right: as `right_in_draws`.
        guard: sees whether an attack changed the network; None where nothing is attacked.
    """

    indices: Sequence[int]
    attacked: AttackBatch
    scores: Scores
    fields: Columns
    logits: Sequence[Tensor]
    draws_right: Tensor | None = None
    guard: NetworkGuard | None = None

    def subset(self, rows: Sequence[int]) -> "CleanBatch":
        """Some images of the batch, in ascending order."""
        chosen = list(rows)
        return CleanBatch(
            [self.indices[row] for row in chosen],
            self.attacked.subset(chosen),
            Scores(*(values[chosen] for values in self.scores)),
            take(self.fields, chosen),
            [logits[chosen] for logits in self.logits],
            None if self.draws_right is None else self.draws_right[chosen],
            self.guard,
        )


def score_clean(
    context: Context,
    batch: LoadedBatch,
    conditions: Sequence[Condition],
    device: torch.device,
    meter: CostMeter,
) -> CleanBatch:
    """Score the clean images, and note how large their gradient is where attacks will follow it.

    Args:
        context: see `Context`.
        batch: decoded images.
        conditions: all; the clean one, or where there is none the first, is charged with the pass.
        device: of the classifier.
        meter: charged with passes and time.

    Raises:
        UserError: the network fails, has other classes, or its logits are not finite.
    """
    labels = [context.data.labels[index] for index in batch.indices]
    charged = next((item for item in conditions if item.attack == CLEAN), conditions[0])
    white_box = next((condition for condition in conditions if condition.white_box), None)
    attacked = AttackBatch(
        context.classifier,
        to_tensor(batch.pixels, device),
        torch.tensor(labels, device=device),
        images=[context.data.ids[index] for index in batch.indices],
        seed=context.seed,
        keep_graph=white_box is not None,
        precision=context.precision,
    )
    right = torch.from_numpy(context.data.right_labels(batch.indices))
    fields = clean_fields(context.label, context.data, batch)
    seeded = partial(network_draws, context.seed, attacked.images)
    draws = context.draws if charged.attack == CLEAN else 1
    with meter.measure(charged.key), network_logits(context.classifier) as answers, seeded("clean"):
        done = clean_scores(context.label, context.classifier, context.data, attacked, right, draws)
    fields |= as_clean(done.scores)
    if white_box is not None:
        with meter.measure(white_box.key), seeded("gradient"):
            fields |= _gradient_sizes(attacked, white_box)
    guard = None
    if context.state is not None:
        guard = NetworkGuard(context.classifier, context.state, attacked.x, meter)
    logits = answers[-draws:] or done.logits
    return CleanBatch(batch.indices, attacked, done.scores, fields, logits, done.draws_right, guard)


def class_subset_rows(
    context: Context, clean: CleanBatch, conditions: Sequence[Condition]
) -> Iterator[pa.Table]:
    """Rows of the conditions that look at the clean pass over other classes."""
    # Over other classes the loss is another one, and so would be its gradient.
    fields = {name: values for name, values in clean.fields.items() if name != "gradient"}
    for condition in conditions:
        if condition.class_subset is not None:
            yield subset_rows(condition, context.data, clean.indices, clean.logits, fields)


def _gradient_sizes(attacked: AttackBatch, condition: Condition) -> Columns:
    """How large the gradient is that white-box attacks start from; at zero they go nowhere."""
    try:
        with attacked.attacking():
            gradient = attacked.gradient(condition.threat)
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise
        line = one_line(f"{attacked.images[0]}: no gradient of the clean images: {error}")
        log.warning("%s", line)
        return {}  # every attack that follows the gradient will say so in a row of its own
    return {"gradient": gradient.abs().flatten(1).amax(1).double().cpu().numpy()}


class CleanScores(NamedTuple):
    """Of the clean images.

    Attributes:
        logits: (N, K) of each draw of the network.
        scores: of the first.
        draws_right: as `right_in_draws`.
    """

    logits: list[Tensor]
    scores: Scores
    draws_right: Tensor | None


def clean_scores(
    label: str,
    classifier: Classifier,
    data: Dataset,
    attacked: AttackBatch,
    y: Tensor,
    draws: int = 1,
) -> CleanScores:
    """Score the clean images; what cannot be scored at all is one line.

    Args:
        label: of the model.
        classifier: the model.
        data: where the images are from.
        attacked: the images as the model is shown them.
        y: their right classes, as `score` takes them.
        draws: of the network.

    Raises:
        UserError: the network fails, has other classes, or its logits are not finite.
    """
    x, images = attacked.x, attacked.images
    try:
        logits = [attacked.logits]
        with torch.no_grad():
            logits += [classifier(x).detach() for _ in range(draws - 1)]
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error) or isinstance(error, UserError):
            raise
        raise network_failure(label, x, error) from error
    if data.space is None:
        check_classes(label, logits[0].shape[1], data)
    try:
        scores = score(logits[0], y, images)
        return CleanScores(logits, scores, right_in_draws(logits, y, images))
    except BrokenAttackError as error:
        raise UserError(
            f"{label}: {error}, on clean images; check its weights ({classifier.record.checkpoint})"
        ) from error
