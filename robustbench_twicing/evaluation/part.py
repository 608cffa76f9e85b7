"""One part of a data set under all conditions: attack or show, check, score, record."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch

from ..classifiers.classifier import Classifier
from ..classifiers.device import is_out_of_memory
from ..classifiers.precision import full_fp32
from ..conditions.attack_batch import AttackBatch
from ..conditions.condition import Condition, sweep_groups
from ..data.dataset import Dataset
from ..data.image_maker import place_of
from ..data.loader import LoadedBatch, LoadedPart, to_tensor
from ..errors import BrokenAttackError, UserError
from ..files.printable import one_line
from ..records.adversarial import AdversarialStore
from ..records.cost import CostMeter
from ..records.run_folder import Part
from ..records.schema import RECORD_SCHEMA
from .attack_step import outcomes
from .class_subsets import is_counted, kept_logits, read_out
from .corruption_step import among_known, show
from .out_of_memory import in_pieces_that_fit
from .progress import Report, Step
from .rows import Rows, Scores, facts, score, scored, without_scores
from .sanity_checks import first_look

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


class _Work(NamedTuple):
    """What all steps of one part need."""

    subject: Subject
    conditions: Sequence[Condition]
    device: torch.device
    meter: CostMeter


class _Clean(NamedTuple):
    """A piece of the clean images: what is known of each, and the rows of its conditions."""

    known: Rows
    rows: Rows


def evaluate_part(
    subject: Subject, loaded: LoadedPart, conditions: Sequence[Condition], device: torch.device
) -> Part:
    """All conditions on one range of images; halved and tried again when memory runs out.

    Args:
        subject: see `Subject`.
        loaded: the images, and a batch for every condition that shows others.
        conditions: in order.
        device: of the model.

    Returns:
        One row per condition and image, unreadable and missing images included.

    Raises:
        UserError: memory runs out for a single image.
    """
    work = _Work(subject, conditions, device, CostMeter())
    fit = partial(in_pieces_that_fit, label=subject.label, device=device)
    with full_fp32(device), work.meter.watch(subject.classifier):
        pieces = fit(loaded.clean, partial(_clean_and_attacked, work))
        halved = len(pieces) > 1
        known = {row["index"]: row for piece in pieces for row in piece.known}
        rows = [row for piece in pieces for row in piece.rows]
        for condition in (each for each in conditions if each.images is not None):
            with work.meter.measure(condition.key):
                batch = among_known(next(loaded.sourced), known)
                shown = fit(batch, partial(show, subject.classifier, device, condition, known))
            halved |= len(shown) > 1
            rows += [row for piece in shown for row in piece]
            rows += _absent(work, batch, condition)
            units = len(batch.indices) * condition.units
            subject.report(Step(subject.label, condition.id, 0, units))
    for condition in conditions:
        rows += _absent(work, loaded.clean, condition)
    flags = ("batch-halved",) if halved else ()
    return _part(rows, work, (*flags, *_about_network(work, loaded.clean, halved=halved)))


def _about_network(work: _Work, batch: LoadedBatch, *, halved: bool) -> tuple[str, ...]:
    """Flags of the first part, of a network whose answers would mislead."""
    if batch.part:
        return ()
    pixels = batch.pixels[:1] if halved else batch.pixels
    gradients = any(condition.white_box for condition in work.conditions)
    return tuple(first_look(work.subject.classifier, pixels, work.device, gradients=gradients))


def _absent(work: _Work, batch: LoadedBatch, condition: Condition) -> Rows:
    """Rows of the images that are not there, as far as the condition is about them."""
    data = work.subject.data
    absent = tuple(each for each in batch.absent if is_counted(data, condition, each.position))
    return without_scores(work.subject.label, data, batch._replace(absent=absent), condition)


def _part(rows: Rows, work: _Work, flags: tuple[str, ...]) -> Part:
    """The rows in order of image and condition, as columns."""
    order = {each.key: position for position, each in enumerate(work.conditions)}
    rows.sort(key=lambda row: (row["index"], order[f"{row['protocol']}:{row['condition']}"]))
    columns = {name: [row.get(name) for row in rows] for name in RECORD_SCHEMA.names}
    return Part(columns, work.meter.costs, flags)


def _clean_and_attacked(work: _Work, batch: LoadedBatch) -> _Clean:
    """Score the clean images, and attack them under every condition that does not show others."""
    subject, meter = work.subject, work.meter
    conditions = [each for each in work.conditions if each.images is None and each.over is None]
    images = [subject.data.ids[index] for index in batch.indices]
    attacked = AttackBatch(
        subject.classifier,
        to_tensor(batch.pixels, work.device),
        torch.tensor([subject.data.labels[index] for index in batch.indices], device=work.device),
        images=images,
        seed=subject.seed,
        keep_graph=any(condition.white_box for condition in conditions),
        precision=subject.precision,
    )
    known = facts(subject.label, subject.data, batch)
    with meter.measure(work.conditions[0].key), kept_logits(subject.classifier) as kept:
        clean = _clean_scores(subject, attacked)
    for name, values in zip(("clean_prediction", "clean_rank", "clean_loss"), clean, strict=True):
        for row, value in zip(known, values.tolist(), strict=True):
            row[name] = value
    whole = kept[0] if kept else attacked.logits
    rows = [
        row
        for condition in work.conditions
        if condition.over is not None
        for row in read_out(condition, subject.data, batch.indices, whole, known)
    ]
    _add_gradients(known, attacked, conditions, meter)
    keep = partial(_keep, subject, batch, attacked)
    for group in sweep_groups(conditions):
        for condition, outcome in outcomes(attacked, clean, group, meter, keep):
            rows += scored(known, condition, outcome)
            units = len(images) * condition.units
            subject.report(Step(subject.label, condition.id, 0, units))
    return _Clean(known, rows)


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
        except (Exception, SystemExit) as error:
            if is_out_of_memory(error):
                raise
            said = one_line(f"{attacked.images[0]}: no gradient of the clean images: {error}")
            log.warning("%s", said)
            return  # every attack that follows the gradient will say so in a row of its own
    for row, largest in zip(rows, gradient.abs().flatten(1).amax(1).tolist(), strict=True):
        row["gradient"] = largest


def _logits(subject: Subject, attacked: AttackBatch) -> torch.Tensor:
    """Clean logits; a network that cannot be run at all is the end, in one line."""
    try:
        return attacked.logits
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error) or isinstance(error, UserError):
            raise
        place = place_of(error)
        raise UserError(
            f"{subject.label}: the network fails on clean images of {tuple(attacked.x.shape)}: "
            f"{type(error).__name__}: {error}{place}"
        ) from error


def _clean_scores(subject: Subject, attacked: AttackBatch) -> Scores:
    classes = _logits(subject, attacked).shape[1]
    wanted = subject.data.num_classes if subject.data.space is None else None
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
            f"{subject.label}: {error}, on clean images; check its weights "
            f"({subject.classifier.record.checkpoint})"
        ) from error
