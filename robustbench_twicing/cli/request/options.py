"""Options of an evaluation, shared by the commands that take them."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import typer


def _opt(*names: str, help: str, panel: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar)


WHAT, HOW, IMAGES, RUN = "What is evaluated", "How it is attacked", "Preprocessing", "The run"
CORRUPTED = "How it is corrupted (ImageNet-C)"


@dataclass(frozen=True)
class EvalOptions:
    """What `eval` and `plan` are asked for, as typed on the command line."""

    model: Annotated[
        list[str],
        _opt(
            "--model",
            "-m",
            metavar="NAME[=CHECKPOINT]",
            help="Model name, timm:NAME, hf:FOLDER or path/file.py:function; repeat for several.",
            panel=WHAT,
        ),
    ] = field(default_factory=list)
    checkpoint: Annotated[
        str | None,
        _opt("--checkpoint", help="FILE, pretrained, bundled, or random:SEED.", panel=WHAT),
    ] = None
    on_bad_model: Annotated[
        str, _opt("--on-bad-model", help="stop at one that fails, or skip it.", panel=WHAT)
    ] = "stop"
    weights: Annotated[
        str, _opt("--weights", help="Which weights of the file: auto, plain, ema.", panel=WHAT)
    ] = "auto"
    label: Annotated[
        list[str], _opt("--label", help="Name in tables; one per --model.", panel=WHAT)
    ] = field(default_factory=list)
    data: Annotated[
        list[str],
        _opt(
            "--data",
            metavar="[NAME=]DIR",
            help="Image folder, .tar, .parquet, imagenet-a=DIR, .npz, samples:imagenet, "
            "fashion-mnist:test1000; repeat for several.",
            panel=WHAT,
        ),
    ] = field(default_factory=list)
    data_root: Annotated[
        str | None,
        _opt("--data-root", metavar="DIR", help="Folder of imagenet, imagenet-a, ...", panel=WHAT),
    ] = None
    without: Annotated[
        str | None,
        _opt("--without", metavar="NAMES", help="Data sets of the suite to leave out.", panel=WHAT),
    ] = None
    labels: Annotated[
        str | None, _opt("--labels", help="Labels of images: CSV, text or JSON.", panel=WHAT)
    ] = None
    labels_superset: Annotated[
        bool, _opt("--labels-superset", help="--labels may name other images, too.", panel=WHAT)
    ] = False
    class_order: Annotated[
        str | None, _opt("--class-order", help="Tiny ImageNet's: sorted or file.", panel=WHAT)
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
    limit_seed: Annotated[
        int, _opt("--limit-seed", help="Of the choice of --limit's images.", panel=WHAT)
    ] = 0
    adapter: Annotated[
        list[str],
        _opt("--adapter", help="LoRA adapter to merge; one per --model, or none.", panel=WHAT),
    ] = field(default_factory=list)
    arch_override: Annotated[
        bool, _opt("--arch-override", help="Though the file names another; flagged.", panel=WHAT)
    ] = False
    suite: Annotated[
        str | None,
        _opt("--suite", help="Named suite or FILE.yaml of conditions; else quick.", panel=HOW),
    ] = None
    attacks: Annotated[
        str | None,
        _opt("--attacks", help="In place of the suite's: clean,fgsm,imagenet-c/fog/3.", panel=HOW),
    ] = None
    eps: Annotated[
        str | None,
        _opt("--eps", help="Replace the suite's budgets: 1/255,4/255 or 0:8/255:1/255.", panel=HOW),
    ] = None
    protocol: Annotated[
        str | None,
        _opt("--protocol", help="pixel, paper, l2 or patch, in place of the suite's.", panel=HOW),
    ] = None
    norm: Annotated[str | None, _opt("--norm", help="l2: --protocol l2.", panel=HOW)] = None
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
    survivors: Annotated[
        bool, _opt("--survivors", help="Attack only what no attack has fooled.", panel=HOW)
    ] = False
    attention: Annotated[
        str, _opt("--attention", help="Attention kernels: auto, explicit, fused.", panel=HOW)
    ] = "auto"
    kernels: Annotated[
        str,
        _opt("--kernels", help="plain, onednn (linear layers on a CPU) or compiled.", panel=HOW),
    ] = "plain"
    compile: Annotated[
        bool, _opt("--compile", help="Short for --kernels compiled: torch.compile.", panel=HOW)
    ] = False
    memory_format: Annotated[
        str,
        _opt("--memory-format", help="contiguous, or channels_last: for convolutions.", panel=HOW),
    ] = "contiguous"
    attack_precision: Annotated[
        str, _opt("--attack-precision", help="fp32, tf32, bf16 or fp16; scores: fp32.", panel=HOW)
    ] = "fp32"
    expectation: Annotated[
        int, _opt("--expectation", help="Mean gradient of N draws of the network.", panel=HOW)
    ] = 1
    draws: Annotated[
        int, _opt("--draws", help="Score each image in N draws of the network.", panel=HOW)
    ] = 1
    corruptions: Annotated[
        str | None,
        _opt(
            "--corruptions",
            help="Names, or main (15), extra (4), all (19 of ImageNet-C).",
            panel=CORRUPTED,
        ),
    ] = None
    severities: Annotated[
        str | None, _opt("--severities", help="Of 1 to 5: 3, 1,3,5 or 1-5.", panel=CORRUPTED)
    ] = None
    imagenet_c: Annotated[
        str | None,
        _opt(
            "--imagenet-c", metavar="DIR", help="Corrupted images: folders, .tar.", panel=CORRUPTED
        ),
    ] = None
    imagenet_c_jpeg: Annotated[
        str | None,
        _opt("--imagenet-c-jpeg", metavar="85|none", help="Second JPEG, or none.", panel=CORRUPTED),
    ] = None
    imagenet_c_size: Annotated[
        int | None,
        _opt("--imagenet-c-size", help="Corrupt at N pixels, not 224; flagged.", panel=CORRUPTED),
    ] = None
    frost_dir: Annotated[
        str | None,
        _opt("--frost-dir", help="Folder of the five frost photographs.", panel=CORRUPTED),
    ] = None
    resize: Annotated[
        int | None, _opt("--resize", help="Shorter side after resizing, pixels.", panel=IMAGES)
    ] = None
    squash: Annotated[
        bool | None,
        _opt("--squash/--no-squash", help="Resize to a square, or keep proportions.", panel=IMAGES),
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
    max_pixels: Annotated[
        int | None, _opt("--max-pixels", help="Decode images of up to N pixels.", panel=IMAGES)
    ] = None
    on_bad_image: Annotated[
        str, _opt("--on-bad-image", help="stop at an unreadable image, or skip it.", panel=IMAGES)
    ] = "stop"
    batch_size: Annotated[
        str, _opt("--batch-size", help="Images a batch, or auto: as many as are fast.", panel=RUN)
    ] = "32"
    part_size: Annotated[
        int, _opt("--part-size", help="Images a part of a new run; else: a batch.", panel=RUN)
    ] = 0
    device: Annotated[str, _opt("--device", help="auto, cpu or cuda.", panel=RUN)] = "auto"
    threads: Annotated[
        int | None, _opt("--threads", help="CPU threads of the network.", panel=RUN)
    ] = None
    workers: Annotated[
        int, _opt("--workers", help="Processes that read and corrupt images; 1: none.", panel=RUN)
    ] = 1
    cache: Annotated[
        str | None,
        _opt("--cache", metavar="DIR", help="Keep decoded crops here for later.", panel=RUN),
    ] = None
    max_hours: Annotated[
        float | None,
        _opt("--max-hours", metavar="H", help="Start no part that would end later.", panel=RUN),
    ] = None
    seed: Annotated[int, _opt("--seed", help="Base seed of every random draw.", panel=RUN)] = 0
    shard: Annotated[
        str, _opt("--shard", metavar="I/N", help="Compute the I-th of N shards.", panel=RUN)
    ] = "1/1"
    score_8bit: Annotated[
        str | None,
        _opt("--score-8bit", help="Scored in 8 bits, too: sample (one in 8) or all.", panel=RUN),
    ] = None
    save_adversarial: Annotated[
        int,
        _opt("--save-adversarial", metavar="N", help="Keep those of the first N.", panel=RUN),
    ] = 0
    out: Annotated[
        str | None, _opt("--out", help="Run folder; continues where it stopped.", panel=RUN)
    ] = None
