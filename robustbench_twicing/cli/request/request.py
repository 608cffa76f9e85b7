"""From options to models, images and conditions; every mistake is found before work starts."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import torch

from ...classifiers.classifier import Classifier
from ...classifiers.device import choose_device, keep_memory
from ...data.crop_cache import cache_crops
from ...errors import UserError
from ...evaluation.options import Options, Shard, parse_batch_size
from ...evaluation.tasks import Task
from ...files.printable import folder_name, one_line
from ..options.evaluation import EvalOptions
from .conditions import read_conditions, with_norm
from .corruptions import shortfalls
from .data_sets import find_sources
from .models import load_models
from .tasks import conditions_by_set, open_tasks


class Request(NamedTuple):
    """What is to be done, loaded and checked.

    Attributes:
        models: label to classifier.
        tasks: data sets, each with its conditions.
        options: how the run is computed.
        left_out: names of data sets that the suite has and --without takes away.
        messages: lines for the user: what --data-root holds, and warnings.
        models_left_out: those that --on-bad-model skip left out, each with the reason.
    """

    models: Mapping[str, Classifier]
    tasks: Sequence[Task]
    options: Options
    left_out: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    models_left_out: tuple[str, ...] = ()


class Asked(NamedTuple):
    """All of a request but its networks.

    Attributes:
        tasks: see `Request`, as for all that is not named here.
        options: likewise.
        left_out: likewise.
        summary: what --data-root holds; empty without it.
        lacking: warnings about the data sets.
    """

    tasks: Sequence[Task]
    options: Options
    left_out: tuple[str, ...]
    summary: str
    lacking: tuple[str, ...]

    def messages(self, models_left_out: Sequence[str] = ()) -> tuple[str, ...]:
        """Lines for the user."""
        warnings = [*self.lacking, *models_left_out]
        return tuple(filter(None, (self.summary, *(f"warning: {line}" for line in warnings))))


def ask(options: EvalOptions) -> Asked:
    """Check all that the options name, and open the data; no network is built.

    Args:
        options: as typed.

    Raises:
        UserError: anything that is missing, unknown or contradictory.
    """
    if not options.model:
        raise UserError("no --model is given; name one, like --model deit_tiny_patch16_224")
    options = with_norm(options)
    asked = read_conditions(options)
    sources = find_sources(asked)
    conditions = conditions_by_set(asked, sources)
    run_options = make_run_options(options)
    prepare_cpu(options.threads)
    tasks = open_tasks(options, sources, conditions)
    if options.cache is not None:
        tasks = _cached(tasks, Path(options.cache))
    lacking = [line for task in tasks for line in shortfalls(task.conditions, task.data)]
    warnings = tuple(map(one_line, lacking))
    return Asked(tasks, run_options, sources.left_out, sources.summary, warnings)


def make_request(options: EvalOptions, asked: Asked | None = None) -> Request:
    """Check and load everything that the options name.

    Args:
        options: as typed.
        asked: `ask` of them, where that was done before.

    Raises:
        UserError: anything that is missing, unknown or contradictory.
    """
    asked = asked or ask(options)
    loaded = load_models(with_norm(options), asked.tasks)
    models_left_out = tuple(f"left out: {one_line(line)}" for line in loaded.left_out)
    return Request(
        models=loaded.models,
        tasks=asked.tasks,
        options=asked.options,
        left_out=asked.left_out,
        messages=asked.messages(models_left_out),
        models_left_out=models_left_out,
    )


def _cached(tasks: Sequence[Task], folder: Path) -> list[Task]:
    return [task._replace(data=cache_crops(task.data, folder)) for task in tasks]


def make_run_options(options: EvalOptions) -> Options:
    """How the run is computed: the options whose names are fields of `Options`.

    Args:
        options: as typed.

    Raises:
        UserError: a bad batch size, shard, device or policy.
    """
    choose_device(options.device)
    values = {name.name: getattr(options, name.name) for name in fields(Options)}
    values |= {
        "shard": Shard.parse(options.shard),
        "batch_size": parse_batch_size(options.batch_size),
    }
    return Options(**values)


def prepare_cpu(threads: int | None) -> None:
    """Limit the network's CPU threads, and keep the memory of its batches.

    Args:
        threads: how many; None for torch's own choice.

    Raises:
        UserError: not a positive number.
    """
    keep_memory()
    if threads is None:
        return
    if threads < 1:
        raise UserError(f"--threads {threads} is not a positive number")
    torch.set_num_threads(threads)


def default_out(label: str) -> Path:
    """A fresh run folder below runs/, named by time and model."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{stamp}-{folder_name(label)}"
