"""train: make a checkpoint of any model of the table, from its images and a named recipe."""

from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from ...errors import UserError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("train", help="Train a model of the table; the same command continues it.")(run)


def run(
    model: Annotated[str, typer.Option("--model", "-m", help="Name, placement included.")],
    data: Annotated[str, typer.Option(help="Training images, as for eval, or see docs/zoo.md.")],
    out: Annotated[Path, typer.Option(help="Folder; continues where it stopped.")],
    recipe: Annotated[str, typer.Option(help="fmnist, or deit for ImageNet.")],
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="CHECKPOINT",
            help="Start from its weights (a file, pretrained or bundled), not from random ones.",
        ),
    ] = None,
    weights: Annotated[str, typer.Option(help="Of --from: auto, plain or ema.")] = "auto",
    arch_override: Annotated[
        bool, typer.Option("--arch-override", help="Though --from names another architecture.")
    ] = False,
    val: Annotated[
        str | None, typer.Option(help="Images whose accuracy is logged after every epoch.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Own class names of both, one a line.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Another value than the recipe's."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every random draw.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[
        int | None, typer.Option(help="CPU threads, in place of the recipe's.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Processes that load images; no change of the result.")
    ] = 0,
) -> None:
    """Train, showing rate and time left, and say how to evaluate the result."""
    from ...classifiers.device import choose_device
    from ...data.opening import open_dataset
    from ...training.progress import Lines
    from ...training.recipes import choose_recipe
    from ...training.session import train
    from ..request.models import set_threads
    from ..terminal import Console

    _check_start(start, weights, arch_override)
    if threads is not None:
        set = [*(set or ()), f"threads={threads}"]
    chosen = choose_recipe(recipe, set or ())
    target = choose_device(device)
    set_threads(chosen.threads)
    if seed < 0:
        raise UserError(f"--seed {seed} is negative; it is 0 or more")
    images = open_dataset(data, classes=classes)
    if images.clean_id != "clean":
        raise UserError(f"{images.name} is a test set; nothing may be trained on it")
    done = train(
        model,
        images,
        out,
        recipe=chosen,
        val=None if val is None else open_dataset(val, classes=classes),
        seed=seed,
        device=target,
        workers=workers,
        report=Lines(model, chosen.batch_size),
        start=start,
        weights=cast(Any, weights),
        arch_override=arch_override,
    )
    accuracy = "" if done.right is None else f", {done.right} of {done.images} right on {val}"
    Console().print(
        f"{model} is trained{accuracy}. Evaluate it with --model '{model}={done.weights}'.",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )


def _check_start(start: str | None, weights: str, arch_override: bool) -> None:
    """Options of --from are refused without it, not ignored."""
    from ...checkpoints.contents import Choice

    if weights not in get_args(Choice):
        known = ", ".join(get_args(Choice))
        raise UserError(f"--weights {weights!r} is unknown; known: {known}")
    unused = {"--weights": weights != "auto", "--arch-override": arch_override}
    for option, given in unused.items():
        if given and start is None:
            raise UserError(f"{option} is of --from, which is not given; leave it out")
