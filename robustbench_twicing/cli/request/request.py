"""From options to models, images and conditions; every mistake is found before work starts."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from ...errors import UserError
from ...files.printable import one_line
from .conditions import suite_data
from .corruptions import shortfalls
from .data_sets import find_sources
from .options import EvalOptions
from .tasks import conditions_by_set, open_tasks

if TYPE_CHECKING:
    from ...classifiers.classifier import Classifier
    from ...evaluation.runner import Options
    from ...evaluation.tasks import Task


class Request(NamedTuple):
    """What is to be done, loaded and checked.

    Attributes:
        models: label to classifier.
        tasks: data sets, each with its conditions.
        options: how the run is computed.
        left_out: names of data sets that the suite has and --without takes away.
        said: lines for the user: what --data-root holds, and warnings.
    """

    models: "Mapping[str, Classifier]"
    tasks: "Sequence[Task]"
    options: "Options"
    left_out: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


def make_request(options: EvalOptions) -> Request:
    """Check and load everything that the options name.

    Raises:
        UserError: anything that is missing, unknown or contradictory.
    """
    if not options.model:
        raise UserError("no --model is given; name one, like --model deit_tiny_patch16_224")
    sources = find_sources(options, suite_data(options))
    conditions = conditions_by_set(options, sources)
    run_options = make_run_options(options)
    set_threads(options.threads)
    tasks = open_tasks(options, sources, conditions)
    if options.cache is not None:
        tasks = _cached(tasks, Path(options.cache))
    lacking = (line for task in tasks for line in shortfalls(task.conditions, task.data))
    said = tuple(f"warning: {one_line(line)}" for line in lacking)
    if sources.said:
        said = (sources.said, *said)
    return Request(load_models(options), tasks, run_options, sources.left_out, said)


def _cached(tasks: "Sequence[Task]", folder: Path) -> "list[Task]":
    from ...data.crop_cache import cache_crops

    return [task._replace(data=cache_crops(task.data, folder)) for task in tasks]


def make_run_options(options: EvalOptions) -> "Options":
    """How the run is computed.

    Raises:
        UserError: a bad batch size, shard, device or policy.
    """
    from ...classifiers.device import choose_device
    from ...evaluation.options import Share
    from ...evaluation.runner import Options

    if not re.fullmatch("[0-9]{1,9}/[0-9]{1,9}", options.shard):
        raise UserError(f"--shard {options.shard!r} is not I/N, like 1/4")
    number, shards = options.shard.split("/")
    choose_device(options.device)
    return Options(
        seed=options.seed,
        batch_size=options.batch_size,
        on_bad_image=options.on_bad_image,
        device=options.device,
        share=Share(int(number), int(shards)),
        attack_precision=options.attack_precision,
        save_adversarial=options.save_adversarial,
        workers=options.workers,
    )


def set_threads(threads: int | None) -> None:
    """Limit the network's CPU threads.

    Raises:
        UserError: not a positive number.
    """
    if threads is None:
        return
    if threads < 1:
        raise UserError(f"--threads {threads} is not a positive number")
    import torch

    torch.set_num_threads(threads)


def load_models(options: EvalOptions) -> "dict[str, Classifier]":
    """Load every --model, under its label.

    Raises:
        UserError: a checkpoint that is missing or does not fit, labels that do not match.
    """
    from ...checkpoints.contents import Choice
    from ...classifiers.device import choose_device
    from ...classifiers.kernels import choose_kernels
    from ...classifiers.loading import load_model
    from ...classifiers.user_code import is_user_code

    if options.weights not in get_args(Choice):
        known = ", ".join(get_args(Choice))
        raise UserError(f"--weights {options.weights!r} is unknown; known: {known}")
    if options.num_classes is not None and options.num_classes < 1:
        raise UserError(f"--num-classes {options.num_classes} is not a positive number")
    if options.label and len(options.label) != len(options.model):
        raise UserError(
            f"{len(options.label)} --label for {len(options.model)} --model; give one for each"
        )
    kernels = choose_kernels(options.kernels, choose_device(options.device))
    loaded = []
    for asked in options.model:
        name, _, own = asked.partition("=")
        checkpoint = own or options.checkpoint
        if is_user_code(name):
            _check_user_code(options, checkpoint)
        if own and options.checkpoint:
            raise UserError(f"--model {asked} names a checkpoint, and --checkpoint another one")
        loaded.append(
            load_model(
                name,
                checkpoint,
                weights=cast(Any, options.weights),
                num_classes=options.num_classes,
                arch_override=options.arch_override,
                attention=options.attention,
                kernels=cast(Any, kernels),
                memory_format=options.memory_format,
                normalize=parse_normalize(options.normalize),
                resize=options.resize,
                crop=options.crop,
                interpolation=options.interpolation,
                mean=parse_triple("--mean", options.mean),
                std=parse_triple("--std", options.std),
            )
        )
    return dict(zip(_labels(options.label, loaded), loaded, strict=True))


def _check_user_code(options: EvalOptions, checkpoint: str | None) -> None:
    """Own code builds its own network; options about that are refused, not ignored."""
    unused = {
        "--num-classes": options.num_classes is not None,
        "--attention": options.attention != "auto",
        "--arch-override": options.arch_override,
        "--weights": options.weights != "auto" and checkpoint is None,
    }
    for option, given in unused.items():
        if given:
            raise UserError(f"{option} does nothing for a model of your own code; leave it out")


def _labels(asked: Sequence[str], models: "Sequence[Classifier]") -> list[str]:
    """Given labels, or model names, with the file's hash where two would collide."""
    names = list(asked) or [model.record.model for model in models]
    labels = list(names)
    for index, model in enumerate(models):
        if not asked and names.count(names[index]) > 1:
            digest = model.record.checkpoint_sha256 or model.record.weights_sha256
            labels[index] = f"{names[index]}#{digest[:8]}"
    for label in labels:
        if labels.count(label) > 1:
            raise UserError(f"two models would be called {label!r}; give each a --label of its own")
    return labels


def parse_triple(option: str, text: str | None) -> tuple[float, float, float] | None:
    """Three numbers, one per channel.

    Raises:
        UserError: not three numbers.
    """
    if text is None:
        return None
    try:
        red, green, blue = (float(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"{option} {text!r} is not three numbers, like 0.485,0.456,0.406") from None
    return red, green, blue


def parse_normalize(text: str | None) -> "tuple[Any, Any] | None":
    """Mean and std that a user's network expects: ``imagenet`` or ``r,g,b/r,g,b``.

    Raises:
        UserError: not two triples.
    """
    from ...data.preprocessing import IMAGENET_MEAN, IMAGENET_STD

    if text is None:
        return None
    if text == "imagenet":
        return IMAGENET_MEAN, IMAGENET_STD
    mean, slash, std = text.partition("/")
    if not slash:
        raise UserError(f"--normalize {text!r} is not MEAN/STD; write imagenet or r,g,b/r,g,b")
    return parse_triple("--normalize", mean), parse_triple("--normalize", std)


def default_out(label: str) -> Path:
    """A fresh run folder below runs/, named by time and model."""
    from datetime import UTC, datetime

    from ...files.printable import folder_name

    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{stamp}-{folder_name(label)}"
