"""From run folders with saved adversarial images, and --model, to what is to be scored."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from attacks import find_attack

from ...classifiers.classifier import Classifier
from ...conditions.condition import Condition, clean
from ...data.preprocessing import Preprocessing
from ...errors import UserError
from ...evaluation.options import Options, Shard
from ...evaluation.tasks import Task, make_task
from ...evaluation.validation import check_classes, count_logits
from ...files.printable import count, name_some
from ...records.sources import Source, is_source, read_sources, saved_dataset, transferred
from ..options.evaluation import EvalOptions
from ..run_folders import open_runs
from .models import load_models
from .request import Request, make_request, make_run_options, prepare_cpu

CONTROL = "noise"
"""Beside each budget: what the target loses to changes of that size that nobody aimed."""


def make_transfer_request(run_dirs: Sequence[Path], options: EvalOptions) -> Request:
    """Check and load everything.

    Args:
        run_dirs: run folders with saved images.
        options: as typed.

    Raises:
        UserError: a run without such images, a model that they were not made for, or anything
            that is missing, unknown or contradictory in the options.
    """
    if not options.model:
        raise UserError("no --model is given; name the models that the images are scored on")
    sources = [source for folder in open_runs(run_dirs) for source in read_sources(folder)]
    manifest = sources[0].manifest
    run_options = _as_in_run(make_run_options(options), manifest.seed, manifest.score_8bit)
    prepare_cpu(options.threads)
    by_name: dict[str, list[Source]] = {}
    for source in sources:
        by_name.setdefault(source.evaluation.dataset.name, []).append(source)
    tasks = [_task(of_dataset) for of_dataset in by_name.values()]
    models = load_models(options).models
    for task, of_dataset in zip(tasks, by_name.values(), strict=True):
        for label, classifier in models.items():
            check_target(label, classifier, task, of_dataset)
    return Request(models, tasks, run_options, messages=tuple(map(_about, sources)))


def make_sources_request(options: EvalOptions) -> Request:
    """What `make_request` makes, of models that are to be shown each other's images.

    Args:
        options: as typed.

    Raises:
        UserError: a single model, or models that see unlike pixels, have unlike classes or mean
            unlike budgets; no attack; or a run of which no other run can be made at once.
    """
    if options.survivors:
        raise UserError("--transfer needs all images of every attack; leave --survivors out")
    if Shard.parse(options.shard).count > 1 or int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UserError(
            "--transfer follows a run that one process finishes; run the shards with "
            "--save-adversarial N, and the command transfer on their folders then"
        )
    request = make_request(options)
    conditions = [condition for task in request.tasks for condition in task.conditions]
    if not any(map(is_source, conditions)):
        raise UserError("--transfer needs an attack with a budget, like --attacks clean,pgd")
    _check_different(request.models)
    (first, model), *others = request.models.items()
    for label, other in others:
        _check_pixels(label, other.preprocessing, first, model.preprocessing)
        _check_count(label, count_logits(label, other), first, count_logits(first, model))
        _check_std(label, other.preprocessing, first, model.preprocessing, conditions)
    return request


def _check_different(models: Mapping[str, Classifier]) -> None:
    """Two networks at least, and none of them twice."""
    labels: dict[tuple[str, str], str] = {}
    for label, model in models.items():
        first = labels.setdefault((model.record.model, model.record.weights_sha256), label)
        if first != label:
            raise UserError(f"{first} and {label} are one network; --transfer needs different ones")
    if len(labels) < 2:
        raise UserError(
            "--transfer scores each model's images on the others; give two --model at least"
        )


def _as_in_run(options: Options, seed: int, score_8bit: str) -> Options:
    """So that the control, and the images that are rounded to 8 bits, are those of the source."""
    return replace(options, seed=seed, score_8bit=score_8bit)


def _about(source: Source) -> str:
    names = name_some([attack.id for attack in source.attacks])
    images = count(len(source.images), "image")
    return f"{source.path}: {images} of {source.evaluation.label} under {names}"


def _task(sources: Sequence[Source]) -> Task:
    """Clean images, the control at every budget, and the images of all sources."""
    attacks = transferred(sources)
    protocols = dict.fromkeys(condition.protocol for condition in attacks)
    conditions = [
        *map(clean, protocols),
        *(control for protocol in protocols for control in _controls(attacks, protocol)),
        *attacks,
    ]
    return make_task(saved_dataset(sources), conditions)


def _controls(attacks: Iterable[Condition], protocol: str) -> list[Condition]:
    budgets = {condition.eps for condition in attacks if condition.protocol == protocol}
    return [find_attack(CONTROL).condition(eps, protocol) for eps in sorted(budgets)]


def check_target(label: str, classifier: Classifier, task: Task, sources: Iterable[Source]) -> None:
    """Refuse a network that the images of some sources were not made for.

    Args:
        label: of the network.
        classifier: the network.
        task: the images, and what is done to them.
        sources: whose adversarial images they are.

    Raises:
        UserError: it is shown other pixels, has other classes, or means other budgets.
    """
    classes = count_logits(label, classifier)
    for source in sources:
        made_on, shown = source.evaluation.label, source.evaluation.preprocessing
        _check_pixels(label, classifier.preprocessing, made_on, shown)
        # Where the data set does not say how many classes there are, the source may.
        sizes = source.evaluation.record.details.get("sizes") or {}
        _check_count(label, classes, made_on, sizes.get("num_classes", classes))
        _check_std(label, classifier.preprocessing, made_on, shown, source.attacks)
    check_classes(label, classes, task.data)


def _check_pixels(
    label: str, target: Preprocessing, source_label: str, source: Preprocessing
) -> None:
    """How photographs become pixels; mean and std come after that, and are the network's."""
    ours, theirs = _making(target), _making(source)
    different = [name for name in theirs if ours.get(name) != theirs[name]]
    if different:
        words = ", ".join(f"{name} {ours[name]} and not {theirs[name]}" for name in different)
        given = {name: f"--{name} {theirs[name]}" for name in different if theirs[name] is not None}
        if "squash" in given:
            given["squash"] = "--squash" if theirs["squash"] else "--no-squash"
        options = " ".join(given.values())
        advice = f"give {options} if the network is meant for that" if options else "name another"
        raise UserError(
            f"{label} sees other pixels than {source_label}, on which the images were made: "
            f"{words}. They are never resized; {advice}"
        )


def _making(preprocessing: Preprocessing) -> Mapping[str, object]:
    """Without a resize the filter does nothing."""
    names = ("crop", "resize", "interpolation", "squash")
    parts = {name: getattr(preprocessing, name) for name in names}
    unused = {"interpolation": None, "squash": False}
    return parts if preprocessing.resize is not None else parts | unused


def _check_count(label: str, classes: int, source_label: str, expected: int) -> None:
    if expected != classes:
        raise UserError(
            f"{label} has {classes} classes, {source_label}, on which the images were "
            f"made, {expected}; they must be the same classes: give a --model with {expected} "
            f"(--num-classes {expected} if a checkpoint of your own has them)"
        )


def _check_std(
    label: str,
    target: Preprocessing,
    source_label: str,
    source: Preprocessing,
    conditions: Iterable[Condition],
) -> None:
    """A budget in normalised units is another one in pixels where the std is another one."""
    normalized = [condition for condition in conditions if condition.threat.space == "normalized"]
    if normalized and target.std != source.std:
        raise UserError(
            f"protocol {normalized[0].protocol} has budgets in normalised units, and std is "
            f"{source.std} of {source_label} and {target.std} of {label}: they are not the same "
            "budgets; transfer images of protocol pixel"
        )
