"""One batch under all conditions: attack, check, score, record."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import torch

from .attack_batch import AttackBatch
from .attacking import outcomes, place_of
from .batches import LoadedBatch, to_tensor
from .classifier import Classifier
from .conditions import Condition, sweep_groups
from .cost import CostMeter
from .data import Dataset
from .environment import is_out_of_memory
from .errors import BrokenAttackError, UserError
from .progress import Report, Step
from .records import AdversarialStore, Part
from .records.schema import RECORD_SCHEMA
from .rows import Rows, facts, scored, skipped
from .scoring import Scores, score

log = logging.getLogger(__name__)


class Subject(NamedTuple):
    """What is evaluated: a model under a label, on a data set.

    Attributes:
        label: name in tables.
        classifier: the model, on its device.
        data: the images.
        seed: base seed.
        report: told of finished work.
        precision: number format of the attacks' passes.
        store: keeps adversarial images; None keeps none.
    """

    label: str
    classifier: Classifier
    data: Dataset
    seed: int
    report: Report
    precision: torch.dtype = torch.float32
    store: AdversarialStore | None = None


def evaluate_batch(
    subject: Subject, batch: LoadedBatch, conditions: Sequence[Condition], device: torch.device
) -> Part:
    """All conditions on one batch; halved and tried again when memory runs out.

    Returns:
        One row per condition and image, unreadable images included.

    Raises:
        UserError: memory runs out for a single image.
    """
    meter = CostMeter()
    rows: Rows = []
    flags: dict[str, None] = {}
    with meter.watch(subject.classifier):
        for piece in _pieces_that_fit(subject, batch, conditions, device, meter, rows):
            if len(piece.indices) < len(batch.indices):
                flags["batch-halved"] = None
    for condition in conditions:
        rows += skipped(subject.label, subject.data, batch, condition)
    order = {
        (condition.protocol, condition.id): position
        for position, condition in enumerate(conditions)
    }
    rows.sort(key=lambda row: (row["index"], order[row["protocol"], row["condition"]]))
    columns = {name: [row.get(name) for row in rows] for name in RECORD_SCHEMA.names}
    return Part(columns, meter.costs, tuple(flags))


def _pieces_that_fit(
    subject: Subject,
    batch: LoadedBatch,
    conditions: Sequence[Condition],
    device: torch.device,
    meter: CostMeter,
    rows: Rows,
) -> Iterator[LoadedBatch]:
    waiting = [batch] if batch.indices else []
    while waiting:
        piece = waiting.pop(0)
        try:
            rows += _evaluate(subject, piece, conditions, device, meter)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            waiting = _halve(piece, subject.label) + waiting
            if device.type == "cuda":
                torch.cuda.empty_cache()
        else:
            yield piece


def _halve(batch: LoadedBatch, label: str) -> list[LoadedBatch]:
    count = len(batch.indices)
    if count == 1:
        raise UserError(f"{label}: memory ran out on a single image; use a smaller model or --crop")
    log.warning("%s: memory ran out with %d images; trying %d", label, count, -(-count // 2))
    cut = -(-count // 2)
    return [
        batch._replace(indices=batch.indices[part], pixels=batch.pixels[part])
        for part in (slice(cut), slice(cut, None))
    ]


def _evaluate(
    subject: Subject,
    batch: LoadedBatch,
    conditions: Sequence[Condition],
    device: torch.device,
    meter: CostMeter,
) -> Rows:
    x = to_tensor(batch.pixels, device)
    y = torch.tensor([subject.data.labels[index] for index in batch.indices], device=device)
    images = [subject.data.ids[index] for index in batch.indices]
    attacked = AttackBatch(
        subject.classifier,
        x,
        y,
        images=images,
        seed=subject.seed,
        keep_graph=any(condition.white_box for condition in conditions),
        precision=subject.precision,
    )
    known = facts(subject.label, subject.data, batch)
    with meter.measure(conditions[0].key):
        clean = _clean_scores(subject, attacked)
    for name, values in zip(("clean_prediction", "clean_rank", "clean_loss"), clean, strict=True):
        for row, value in zip(known, values.tolist(), strict=True):
            row[name] = value
    _add_gradients(known, attacked, conditions, meter)
    keep = partial(_keep, subject, batch, attacked)
    rows: Rows = []
    for group in sweep_groups(conditions):
        for condition, outcome in outcomes(attacked, clean, group, meter, keep):
            rows += scored(known, condition, outcome)
            units = len(images) * condition.units
            subject.report(Step(subject.label, condition.id, 0, units))
    return rows


def _keep(
    subject: Subject,
    batch: LoadedBatch,
    attacked: AttackBatch,
    condition: Condition,
    x_adv: torch.Tensor,
) -> None:
    if subject.store is not None:
        place = (subject.label, subject.data.name, condition.protocol, condition.id)
        x, adversarial = (each.detach().cpu().numpy() for each in (attacked.x, x_adv))
        subject.store.save(place, batch.indices, attacked.images, x, adversarial)


def _add_gradients(
    rows: Rows, attacked: AttackBatch, conditions: Sequence[Condition], meter: CostMeter
) -> None:
    """How large the gradient is that white-box attacks start from; at zero they go nowhere."""
    first = next((condition for condition in conditions if condition.white_box), None)
    if first is None:
        return
    with meter.measure(first.key):
        try:
            with attacked.attacking():
                gradient = attacked.gradient(first.threat)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            log.warning("%s: no gradient of the clean images: %s", attacked.images[0], error)
            return  # every attack that follows the gradient will say so in a row of its own
    for row, largest in zip(rows, gradient.abs().flatten(1).amax(1).tolist(), strict=True):
        row["gradient"] = largest


def _logits(subject: Subject, attacked: AttackBatch) -> torch.Tensor:
    """Clean logits; a network that cannot be run at all is the end, in one line."""
    try:
        return attacked.logits
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise UserError(
            f"{subject.label}: the network fails on clean images of {tuple(attacked.x.shape)}: "
            f"{type(error).__name__}: {error}{place_of(error)}"
        ) from error


def _clean_scores(subject: Subject, attacked: AttackBatch) -> Scores:
    classes, wanted = _logits(subject, attacked).shape[1], subject.data.num_classes
    if max(subject.data.labels) >= classes or (wanted is not None and wanted != classes):
        has = wanted if wanted is not None else f"labels up to {max(subject.data.labels)}"
        raise UserError(
            f"{subject.label} has {classes} classes, {subject.data.name} has {has}; "
            "they must be the same classes"
        )
    try:
        return score(attacked.logits, attacked.y)
    except BrokenAttackError as error:
        raise UserError(
            f"{subject.label}: {error}, on clean images; check the checkpoint"
        ) from error
