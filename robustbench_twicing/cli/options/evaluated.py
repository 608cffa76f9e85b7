"""Options of models and data: what is evaluated."""

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import typer

WHAT = "What is evaluated"
_opt = partial(typer.Option, rich_help_panel=WHAT)


@dataclass(frozen=True)
class EvaluatedOptions:
    """Models, data sets, and which of their images."""

    model: Annotated[
        list[str],
        _opt(
            "--model",
            "-m",
            metavar="NAME[=CHECKPOINT]",
            help="Model name, timm:NAME, hf:FOLDER or path/file.py:function; repeat for several.",
        ),
    ] = field(default_factory=list)
    checkpoint: Annotated[
        str | None, _opt("--checkpoint", help="FILE, pretrained, bundled, or random:SEED.")
    ] = None
    on_bad_model: Annotated[
        str, _opt("--on-bad-model", help="stop at one that fails, or skip it.")
    ] = "stop"
    weights: Annotated[
        str, _opt("--weights", help="Which weights of the file: auto, plain, ema.")
    ] = "auto"
    label: Annotated[list[str], _opt("--label", help="Name in tables; one per --model.")] = field(
        default_factory=list
    )
    data: Annotated[
        list[str],
        _opt(
            "--data",
            metavar="[NAME=]DIR",
            help="Image folder, .tar, .parquet, imagenet-a=DIR, .npz, samples:imagenet, "
            "fashion-mnist:test1000; repeat for several.",
        ),
    ] = field(default_factory=list)
    data_root: Annotated[
        str | None, _opt("--data-root", metavar="DIR", help="Folder of imagenet, imagenet-a, ...")
    ] = None
    without: Annotated[
        str | None, _opt("--without", metavar="NAMES", help="Data sets of the suite to leave out.")
    ] = None
    labels: Annotated[str | None, _opt("--labels", help="Labels of images: CSV, text or JSON.")] = (
        None
    )
    labels_superset: Annotated[
        bool, _opt("--labels-superset", help="--labels may name other images, too.")
    ] = False
    class_order: Annotated[
        str | None, _opt("--class-order", help="Tiny ImageNet's: sorted or file.")
    ] = None
    classes: Annotated[str | None, _opt("--classes", help="Own class names, one a line.")] = None
    num_classes: Annotated[
        int | None, _opt("--num-classes", help="Classes of an own-data checkpoint.")
    ] = None
    limit: Annotated[
        int | None, _opt("--limit", help="Seeded subset of N images, spread over the classes.")
    ] = None
    limit_seed: Annotated[
        int, _opt("--limit-seed", help="Seed of the choice of --limit's images.")
    ] = 0
    adapter: Annotated[
        list[str], _opt("--adapter", help="LoRA adapter to merge; one per --model, or none.")
    ] = field(default_factory=list)
    arch_override: Annotated[
        bool, _opt("--arch-override", help="Load a file that names another architecture; flagged.")
    ] = False
