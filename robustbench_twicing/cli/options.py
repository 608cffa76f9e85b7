"""Options of an evaluation, shared by the commands that take them."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any

import typer


def _opt(*names: str, help: str, panel: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar)


WHAT, HOW, IMAGES, RUN = "What is evaluated", "How it is attacked", "Preprocessing", "The run"


@dataclass(frozen=True)
class EvalOptions:
    """What `eval` and `plan` are asked for, as typed on the command line."""

    model: Annotated[
        list[str],
        _opt(
            "--model",
            "-m",
            metavar="NAME[=CHECKPOINT]",
            help="Model name, timm:NAME or path/file.py:function; repeat for several.",
            panel=WHAT,
        ),
    ] = field(default_factory=list)
    checkpoint: Annotated[
        str | None,
        _opt("--checkpoint", help="FILE, pretrained, or random:SEED.", panel=WHAT),
    ] = None
    weights: Annotated[
        str, _opt("--weights", help="Which weights of the file: auto, plain, ema.", panel=WHAT)
    ] = "auto"
    label: Annotated[
        list[str], _opt("--label", help="Name in tables; one per --model.", panel=WHAT)
    ] = field(default_factory=list)
    data: Annotated[
        str | None,
        _opt("--data", help="Image folder, .npz file, or samples:imagenet.", panel=WHAT),
    ] = None
    labels: Annotated[
        str | None, _opt("--labels", help="Labels of a flat folder: CSV or text.", panel=WHAT)
    ] = None
    classes: Annotated[
        str | None, _opt("--classes", help="Own class names, one a line.", panel=WHAT)
    ] = None
    num_classes: Annotated[
        int | None, _opt("--num-classes", help="Classes of an own-data checkpoint.", panel=WHAT)
    ] = None
    limit: Annotated[
        int | None,
        _opt("--limit", help="Seeded subset of N images, spread over the classes.", panel=WHAT),
    ] = None
    arch_override: Annotated[
        bool,
        _opt(
            "--arch-override",
            help="Load although the file names another architecture; flagged.",
            panel=WHAT,
        ),
    ] = False
    suite: Annotated[
        str, _opt("--suite", help="Named suite or FILE.yaml of conditions.", panel=HOW)
    ] = "quick"
    attacks: Annotated[
        str | None,
        _opt("--attacks", help="Replace the suite's attacks: clean,fgsm,pgd.", panel=HOW),
    ] = None
    eps: Annotated[
        str | None,
        _opt(
            "--eps",
            help="Replace the suite's budgets: 1/255,4/255 or 0:8/255:1/255.",
            panel=HOW,
        ),
    ] = None
    protocol: Annotated[
        str | None, _opt("--protocol", help="pixel or paper, in place of the suite's.", panel=HOW)
    ] = None
    set: Annotated[
        list[str],
        _opt(
            "--set",
            metavar="ATTACK.CONSTANT=VALUE",
            help="Another constant than the protocol's, like pgd.steps=40; flagged.",
            panel=HOW,
        ),
    ] = field(default_factory=list)
    restarts: Annotated[
        int | None,
        _opt("--restarts", help="Worst of N runs of PGD: --set pgd.restarts=N.", panel=HOW),
    ] = None
    spsa_steps: Annotated[
        int | None, _opt("--spsa-steps", help="Short for --set spsa.steps=N.", panel=HOW)
    ] = None
    spsa_samples: Annotated[
        int | None, _opt("--spsa-samples", help="Short for --set spsa.samples=N.", panel=HOW)
    ] = None
    attention: Annotated[
        str,
        _opt("--attention", help="Attention kernels: auto, explicit, fused.", panel=HOW),
    ] = "auto"
    attack_precision: Annotated[
        str,
        _opt("--attack-precision", help="fp32, bf16 or fp16; scores are in fp32.", panel=HOW),
    ] = "fp32"
    resize: Annotated[
        int | None, _opt("--resize", help="Shorter side after resizing, pixels.", panel=IMAGES)
    ] = None
    crop: Annotated[
        int | None, _opt("--crop", help="Side of the centre crop, pixels.", panel=IMAGES)
    ] = None
    interpolation: Annotated[
        str | None,
        _opt("--interpolation", help="nearest, bilinear, bicubic or lanczos.", panel=IMAGES),
    ] = None
    mean: Annotated[
        str | None, _opt("--mean", help="R,G,B mean of pixels in [0, 1].", panel=IMAGES)
    ] = None
    std: Annotated[str | None, _opt("--std", help="R,G,B standard deviation.", panel=IMAGES)] = None
    normalize: Annotated[
        str | None,
        _opt(
            "--normalize",
            metavar="MEAN/STD",
            help="For own code that expects normalised input: imagenet or r,g,b/r,g,b.",
            panel=IMAGES,
        ),
    ] = None
    on_bad_image: Annotated[
        str,
        _opt("--on-bad-image", help="stop at an unreadable image, or skip it.", panel=IMAGES),
    ] = "stop"
    batch_size: Annotated[int, _opt("--batch-size", help="Images a batch.", panel=RUN)] = 32
    device: Annotated[str, _opt("--device", help="auto, cpu or cuda.", panel=RUN)] = "auto"
    threads: Annotated[
        int | None, _opt("--threads", help="CPU threads of the network.", panel=RUN)
    ] = None
    seed: Annotated[int, _opt("--seed", help="Base seed of every random draw.", panel=RUN)] = 0
    shard: Annotated[
        str, _opt("--shard", metavar="I/N", help="Compute the I-th of N shares.", panel=RUN)
    ] = "1/1"
    save_adversarial: Annotated[
        int,
        _opt(
            "--save-adversarial",
            metavar="N",
            help="Keep the adversarial images of the first N images.",
            panel=RUN,
        ),
    ] = 0
    out: Annotated[
        str | None,
        _opt("--out", help="Run folder; continues where it stopped.", panel=RUN),
    ] = None


def add_command(
    app: typer.Typer, name: str, run: Callable[[EvalOptions], int | None], *, help_text: str
) -> None:
    """Add a command that takes all of `EvalOptions`.

    Typer reads a function's signature; this one is made from the fields, so that two commands
    with the same options have them written down once.
    """

    def command(**values: Any) -> int | None:
        return run(EvalOptions(**values))

    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default if each.default is not MISSING else [],
            annotation=each.type,
        )
        for each in fields(EvalOptions)
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.type for each in fields(EvalOptions)}
    app.command(name, help=help_text)(command)
