"""The one loop: models, batches, conditions."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import filterfalse, islice, takewhile
from pathlib import Path

import pandas as pd
import torch

from ..classifiers.classifier import Classifier
from ..classifiers.device import choose_device
from ..classifiers.efficiency import fitting_batch
from ..classifiers.gradient import eval_mode
from ..classifiers.kernels import describe_kernels
from ..classifiers.network_state import NetworkState
from ..classifiers.precision import check_precision, full_fp32
from ..conditions.condition import Condition
from ..data.image_maker import Maker
from ..data.loader import load_batches
from ..errors import UserError
from ..records.adversarial import FOLDER as ADVERSARIAL
from ..records.adversarial import AdversarialStore
from ..records.compaction import compact, compact_around
from ..records.cost import CostMeter
from ..records.failures import Attempted, Work, quarantine_damaged_parts
from ..records.manifest import Evaluation
from ..records.run_folder import RunFolder, part_size_of
from ..records.session import describe_environment, session
from .manifest import make_manifest
from .options import PART_OF_AUTO, Options
from .part import evaluate_part
from .progress import Report, Step, Stop, silent
from .tasks import Context, Task, rescored
from .validation import check_request, check_same_images, check_survivors

log = logging.getLogger(__name__)
__all__ = ["Options", "Run", "evaluate_models", "units"]


@dataclass(frozen=True)
class Run:
    """What `evaluate` returns: a run folder, and the way to its records.

    Attributes:
        folder: the run folder; a temporary one, where no ``out`` was given, lasts as long as this
            object.
    """

    folder: RunFolder

    @property
    def complete(self) -> bool:
        """Whether every image was evaluated."""
        return self.folder.complete

    def records(self) -> pd.DataFrame:
        """One row per label, data set, condition and image."""
        evaluations = self.folder.manifest.evaluations
        frames = [self.folder.records(evaluation).frame for evaluation in evaluations]
        return pd.concat(frames, ignore_index=True)


def evaluate_models(
    models: Mapping[str, Classifier],
    tasks: Sequence[Task],
    *,
    out: Path,
    options: Options,
    left_out: Sequence[str] = (),
    report: Report = silent,
    stop: Stop | None = None,
) -> Run:
    """Evaluate models, one after the other, into one run folder; parts that are there are kept.

    Args:
        models: label to classifier.
        tasks: data sets with unique names, each with its conditions (see `make_task`).
        out: run folder, new or to be continued.
        options: see `Options`.
        left_out: names of data sets that the reader would expect and that are not evaluated.
        report: told of finished work.
        stop: asked between two parts whether to end there; the run is then incomplete.

    Raises:
        UserError: as `evaluate`.
    """
    stop = stop or Stop()
    check_request(models, tasks)
    if options.survivors:
        check_survivors(tasks)
    device = choose_device(options.device)
    check_precision(options.attack_precision, device)
    manifest = make_manifest(
        models,
        tasks,
        options,
        left_out=left_out,
        part_size=part_size_of(out) or options.part_size or options.batch_size or PART_OF_AUTO,
        device=device.type,
    )
    folder = RunFolder.create_or_continue(out, manifest)
    tasks_by_name = {task.data.name: task for task in tasks}
    score_8bit = _score_8bit(folder, options)
    note = describe_environment(device) | {
        "kernels": describe_kernels(models.values()),
        "batch_size": options.batch_size or "auto",
    }
    attempted = Attempted()
    works = [_work(folder, item, options, attempted) for item in folder.manifest.evaluations]
    # A look at a finished run leaves it as it is.
    noted = (
        nullcontext()
        if folder.complete and not any(work.failed for work in works)
        else session(folder, note)
    )
    with noted:
        for work in works:  # in the order in which the run was begun
            if stop.now:
                break
            evaluation = work.evaluation
            classifier, task = models[evaluation.label], tasks_by_name[evaluation.dataset.name]
            by_key = {condition.key: condition for condition in task.conditions}
            conditions = [by_key[key] for key in evaluation.conditions]
            space = task.data.space
            with _ready(classifier, device):
                context = Context(
                    evaluation.label,
                    classifier if space is None else classifier.answering_in(space).to(device),
                    task.data,
                    options.seed,
                    report,
                    options.attack_precision,
                    _store(folder, options),
                    options.batch_size or folder.manifest.part_size,
                    rescored(task.data, options.seed, score_8bit),
                    survivors=options.survivors,
                    draws=options.draws,
                )
                _evaluate(context, conditions, work, options, stop)
    attempted.say()
    return Run(folder)


def _score_8bit(folder: RunFolder, options: Options) -> str:
    score_8bit = folder.manifest.score_8bit
    if options.score_8bit not in (None, score_8bit):
        raise UserError(
            f"{folder.path} was begun with --score-8bit {score_8bit}, not {options.score_8bit}; "
            "leave the option out, or use another --out"
        )
    return score_8bit


def _work(
    folder: RunFolder, evaluation: Evaluation, options: Options, attempted: Attempted
) -> Work:
    parts = options.shard.parts(range(folder.part_count(evaluation)))
    # Before a finished run is taken for one that needs no note of who worked on it.
    quarantine_damaged_parts(folder, evaluation, parts, options.shard.first_parts(parts))
    return Work(folder, evaluation, parts, attempted)


def _evaluate(
    context: Context, conditions: Sequence[Condition], work: Work, options: Options, stop: Stop
) -> None:
    """One model, on its device, on one data set: parts that are missing, then error rows again."""
    data, folder, evaluation = context.data, work.folder, work.evaluation
    size = folder.manifest.part_size
    compact(folder, evaluation, lambda: stop.now)
    sources = {one.key: one.images for one in conditions if one.images is not None}
    maker = Maker(data, context.classifier.preprocessing, sources, options.seed, size)
    check_same_images(folder, evaluation, maker, conditions)
    done = len(data) - _images_of(filterfalse(work.is_finished, work.parts), size, len(data))
    context.report(Step(context.label, "", done, done * units(conditions), resumed=True))
    if all(map(work.is_finished, work.parts)):
        return  # nothing is locked or written: the folder may be read-only
    if options.batch_size is None:
        context = context._replace(batch_size=fitting_batch(context.classifier, size))
        log.warning("%s: batches of %d images", context.label, context.batch_size)
    device = choose_device(options.device)
    meter = CostMeter()
    watched = meter.watch(context.classifier)
    with folder.owner(evaluation) as owner, full_fp32(device), watched:
        if any(condition.sweep is not None for condition in conditions):
            context = context._replace(state=NetworkState(context.classifier))
        evaluate = partial(
            evaluate_part, context, conditions=conditions, device=device, meter=meter
        )
        for keys, parts in work.groups(owner, lambda: stop.now):
            shown = {key: images for key, images in sources.items() if not keys or key in keys}
            batches = load_batches(
                replace(maker, sources=shown),
                owner.claimed(takewhile(lambda part: not stop.now, parts), work.is_finished),
                batch_size=size,
                skip_bad=options.on_bad_image == "skip",
                workers=options.workers,
            )
            stop.part_begins()
            with closing(batches):
                for clean in batches:
                    folder.check_still_there()
                    compute = partial(evaluate, clean, islice(batches, len(shown)))
                    folder.write_part(evaluation, clean.part, work.records(clean.part, compute))
                    owner.release(clean.part)
                    if not keys:  # else claims on further parts, which are there, are held ahead
                        compact_around(folder, evaluation, clean.part, owner)
                    images = len(clean.indices) + len(clean.absent)
                    context.report(Step(context.label, "", images, 0))
                    stop.part_ends()
                    if stop.now:
                        return
    compact(folder, evaluation, lambda: stop.now)


def _store(folder: RunFolder, options: Options) -> AdversarialStore | None:
    if not options.save_adversarial:
        return None
    return AdversarialStore(folder.path / ADVERSARIAL, options.save_adversarial)


@contextmanager
def _ready(classifier: Classifier, device: torch.device) -> Iterator[None]:
    """On the device and in eval mode inside; afterwards as the caller had it."""
    home = classifier.device
    classifier.to(device)
    try:
        with eval_mode(classifier):
            yield
    finally:
        classifier.to(home)


def units(conditions: Sequence[Condition]) -> float:
    """Network passes per image under all conditions, in forward-pass equivalents."""
    return sum(condition.units for condition in conditions)


def _images_of(parts: Iterable[int], part_size: int, images: int) -> int:
    return sum(min(part_size, images - part * part_size) for part in parts)
