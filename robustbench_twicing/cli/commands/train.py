"""train: make a checkpoint of any model of the table, from its images and a named recipe."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from ...errors import UserError
from ...registry import unknown
from ..options.command import add_command
from ..options.evaluation import OF_LABELS, EvalOptions
from ..options.run import RUN

_opt = partial(typer.Option, rich_help_panel="What is trained, and how")


@dataclass(frozen=True)
class TrainOptions(EvalOptions):
    """Those of images and weights to start from, and how a model is trained."""

    model: Annotated[
        list[str], _opt("--model", "-m", help="Name, of twicing with its layers: NAME[10-12].")
    ] = field(default_factory=list)
    data: Annotated[list[str], _opt(help="Training images, as for eval, or see docs/zoo.md.")] = (
        field(default_factory=list)
    )
    out: Annotated[str | None, _opt(help="Folder; continues where it stopped.")] = None
    recipe: Annotated[str, _opt(help="fmnist, or deit for ImageNet.")] = ""
    start: Annotated[
        str | None,
        _opt(
            "--from",
            metavar="CHECKPOINT",
            help="Start from its weights (a file, pretrained or bundled), not from random ones.",
        ),
    ] = None
    val: Annotated[
        str | None,
        _opt(
            help="Images whose accuracy is logged after every epoch; options about labels are "
            "for both."
        ),
    ] = None
    set: Annotated[
        list[str], _opt("--set", metavar="FIELD=VALUE", help="Another value than the recipe's.")
    ] = field(default_factory=list)
    workers: Annotated[
        int,
        typer.Option(
            min=0,
            help="Processes that load images; no change of the result.",
            rich_help_panel=RUN,
        ),
    ] = 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(
        app,
        "train",
        run,
        help_text="Train a model that `models` lists; the same command continues it.",
        options=TrainOptions,
        only=(
            *("model", "data", "out", "recipe", "start", "weights", "arch_override", "val", "set"),
            *(*OF_LABELS, "max_pixels", "seed", "device", "threads", "workers"),
        ),
        needed=("model", "data", "out", "recipe"),
    )


def run(options: TrainOptions) -> None:
    """Train, showing rate and time left, and say how to evaluate the result."""
    from ...classifiers.device import choose_device
    from ...training.progress import Lines
    from ...training.recipes import choose_recipe
    from ...training.session import train
    from ..request.data_sets import one_data, open_images
    from ..request.request import prepare_cpu
    from ..terminal import Console

    _check_start(options.start, options.weights, options.arch_override)
    model = _one_model(options)
    changes = list(options.set)
    if options.threads is not None:
        changes.append(f"threads={options.threads}")
    chosen = choose_recipe(options.recipe, changes)
    target = choose_device(options.device)
    prepare_cpu(chosen.threads)
    if options.seed < 0:
        raise UserError(f"--seed {options.seed} is negative; it is 0 or more")
    images = open_images(options, one_data(options, "train"))
    if images.clean_id != "clean":
        raise UserError(f"{images.name} is a test set; nothing may be trained on it")
    done = train(
        model,
        images,
        Path(options.out or ""),
        recipe=chosen,
        val=None if options.val is None else open_images(options, options.val),
        seed=options.seed,
        device=target,
        workers=options.workers,
        report=Lines(model, chosen.batch_size),
        start=options.start,
        weights=cast(Any, options.weights),
        arch_override=options.arch_override,
    )
    accuracy = (
        "" if done.right is None else f", {done.right} of {done.images} right on {options.val}"
    )
    Console().say(
        f"{model} is trained{accuracy}. Evaluate it with --model '{model}={done.weights}'."
    )


def _one_model(options: TrainOptions) -> str:
    if len(options.model) != 1:
        raise UserError(f"train makes one model at a time, not {len(options.model)}; name one")
    return options.model[0]


def _check_start(start: str | None, weights: str, arch_override: bool) -> None:
    """Options of --from are refused without it, not ignored."""
    from ...checkpoints.contents import Choice

    if weights not in get_args(Choice):
        raise unknown("--weights", weights, get_args(Choice))
    unused = {"--weights": weights != "auto", "--arch-override": arch_override}
    for option, given in unused.items():
        if given and start is None:
            raise UserError(f"{option} is of --from, which is not given; leave it out")
