"""The one loop: models, batches, conditions."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from pathlib import Path

import pandas as pd
import torch

from ..classifiers.classifier import Classifier
from ..classifiers.device import choose_device
from ..classifiers.efficiency import fitting_batch
from ..classifiers.gradient import eval_mode
from ..classifiers.kernels import describe_kernels
from ..classifiers.network_state import NetworkState
from ..classifiers.precision import full_fp32
from ..conditions.condition import Condition
from ..data.loader import load_batches
from ..records.adversarial import FOLDER as ADVERSARIAL
from ..records.adversarial import AdversarialStore
from ..records.compaction import compact, compact_around
from ..records.cost import CostMeter
from ..records.failures import Work
from ..records.run_folder import RunFolder
from ..records.session import describe_environment, session
from .options import Options
from .part import evaluate_part
from .progress import Report, Step, Stop, silent
from .standing.look import open_run, prepare, unfinished
from .tasks import Context, RunRequest, Task, rescored

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


def unheard(line: str) -> None:
    """Is told, and tells nobody."""


def evaluate_models(
    models: Mapping[str, Classifier],
    tasks: Sequence[Task],
    *,
    out: Path,
    options: Options,
    left_out: Sequence[str] = (),
    report: Report = silent,
    stop: Stop | None = None,
    say: Callable[[str], None] = unheard,
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
        say: told in a sentence how far a run is that goes on.

    Raises:
        UserError: as `evaluate`.
    """
    stop = stop or Stop()
    standing = open_run(RunRequest(models, tasks, out, options, left_out))
    finished, told = standing.finished, say if standing.begun else unheard
    if not finished:
        told(str(standing))
    folder, works = standing.folder, standing.works
    device = choose_device(options.device)
    tasks_by_name = {task.data.name: task for task in tasks}
    note = describe_environment(device) | {
        "kernels": describe_kernels(models.values()),
        "batch_size": options.batch_size or "auto",
    }
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
                    rescored(task.data, options.seed, folder.manifest.score_8bit),
                    survivors=options.survivors,
                    draws=options.draws,
                )
                _evaluate(context, task, work, options, stop)
    standing.attempted.say()
    if finished:
        told(str(standing))  # not before its images have been looked into
    return Run(folder)


def _evaluate(context: Context, task: Task, work: Work, options: Options, stop: Stop) -> None:
    """One model, on its device, on one data set: parts that are missing, then error rows again."""
    data, folder, evaluation = context.data, work.folder, work.evaluation
    size = folder.manifest.part_size
    compact(folder, evaluation, lambda: stop.now, options.shard.count)
    maker, conditions = prepare(work, task, context.classifier.preprocessing, options)
    sources = maker.sources
    left = unfinished(work)
    done = len(data) - _images_of(left, size, len(data))
    context.report(Step(context.label, "", done, done * units(conditions), resumed=True))
    if not left:
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
                        compact_around(folder, evaluation, clean.part, owner, options.shard.count)
                    images = len(clean.indices) + len(clean.absent)
                    context.report(Step(context.label, "", images, 0))
                    stop.part_ends()
                    if stop.now:
                        return
    compact(folder, evaluation, lambda: stop.now, options.shard.count)


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
