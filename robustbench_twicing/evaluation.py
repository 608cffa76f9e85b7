"""One batch under all conditions: attack, check, score, record."""

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .attack_batch import AttackBatch
from .batches import LoadedBatch, to_tensor
from .classifier import Classifier, std_of
from .conditions import Condition, Sweep, sweep_groups
from .cost import CostMeter
from .data import Dataset
from .environment import is_out_of_memory
from .errors import BrokenAttackError, UserError
from .progress import BACKWARD_COST, Report, Step
from .records import Part
from .records.schema import RECORD_SCHEMA
from .rows import Outcome, Rows, facts, scored, skipped
from .scoring import Scores, linf, score
from .threat import check_adversarial

log = logging.getLogger(__name__)


class Subject(NamedTuple):
    """What is evaluated: a model under a label, on a data set.

    Attributes:
        label: name in tables.
        classifier: the model, on its device.
        data: the images.
        seed: base seed.
        report: told of finished work.
    """

    label: str
    classifier: Classifier
    data: Dataset
    seed: int
    report: Report


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
        keep_graph=any(condition.shares_gradient for condition in conditions),
    )
    known = facts(subject.label, subject.data, batch)
    with meter.measure(conditions[0].key):
        clean = _clean_scores(subject, attacked)
    for name, values in zip(("clean_prediction", "clean_rank", "clean_loss"), clean, strict=True):
        for row, value in zip(known, values.tolist(), strict=True):
            row[name] = value
    rows: Rows = []
    for group in sweep_groups(conditions):
        for condition, outcome in _outcomes(attacked, clean, group, meter):
            rows += scored(known, condition, outcome)
            forward, backward = condition.passes
            units = len(images) * (forward + BACKWARD_COST * backward)
            subject.report(Step(subject.label, condition.id, 0, units))
    return rows


def _clean_scores(subject: Subject, attacked: AttackBatch) -> Scores:
    classes = attacked.logits.shape[1]
    if subject.data.labels and max(subject.data.labels) >= classes:
        raise UserError(
            f"{subject.label} has {classes} classes, but {subject.data.name} has labels up to "
            f"{max(subject.data.labels)}; give a checkpoint with that many classes"
        )
    try:
        return score(attacked.logits, attacked.y)
    except BrokenAttackError as error:
        raise UserError(
            f"{subject.label}: {error}, on clean images; check the checkpoint"
        ) from error


def _outcomes(
    attacked: AttackBatch, clean: Scores, group: Sequence[Condition], meter: CostMeter
) -> Iterator[tuple[Condition, Outcome]]:
    first = group[0]
    if first.sweep is None:
        yield first, Outcome(clean, torch.zeros(len(attacked.x), dtype=torch.float64))
        return
    sweep = _sweep(first.sweep, attacked, group)
    for condition in group:
        with meter.measure(condition.key):
            outcome = _attack_and_score(attacked, condition, sweep)
        yield condition, outcome


def _sweep(sweep: Sweep, attacked: AttackBatch, group: Sequence[Condition]) -> Iterator[Tensor]:
    """Started by the first `next`, so that a failure to start is a failure of the attack too."""
    budgets = [condition.eps for condition in group]
    yield from sweep(attacked, budgets, threat=group[0].threat, settings=group[0].settings)


def _attack_and_score(
    attacked: AttackBatch, condition: Condition, sweep: Iterator[Tensor]
) -> Outcome:
    """A failure of the attack, whatever it is, becomes an error row; it is never scored."""
    try:
        x_adv = _next(sweep, attacked)
        check_adversarial(
            attacked.x, x_adv, float(condition.eps), condition.threat, std_of(attacked.model)
        )
        with torch.no_grad():
            scores = score(attacked.model(x_adv), attacked.y)
        return Outcome(scores, linf(attacked.x, x_adv))
    except StopIteration:
        return Outcome(None, None, "the attack stopped before this budget")
    except Exception as error:
        if is_out_of_memory(error):
            raise
        log.exception("%s failed", condition.id)
        return Outcome(None, None, f"{type(error).__name__}: {error}")


def _next(sweep: Iterator[Tensor], attacked: AttackBatch) -> Tensor:
    """What the attack made, with model and clean images as they were before it."""
    try:
        return next(sweep)
    finally:
        attacked.model.eval()
        attacked.check_untouched()
