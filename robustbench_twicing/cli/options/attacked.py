"""Options of attacks, and of the passes that they and scores are made of."""

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import typer

_opt = partial(typer.Option, rich_help_panel="How it is attacked")


@dataclass(frozen=True)
class AttackedOptions:
    """Suite, attacks and budgets, and how the network computes."""

    suite: Annotated[
        str | None, _opt("--suite", help="Named suite or FILE.yaml of conditions; else quick.")
    ] = None
    attacks: Annotated[
        str | None, _opt("--attacks", help="In place of the suite's: clean,fgsm,imagenet-c/fog/3.")
    ] = None
    eps: Annotated[
        str | None, _opt("--eps", help="Replace the suite's budgets: 1/255,4/255 or 0:8/255:1/255.")
    ] = None
    protocol: Annotated[
        str | None, _opt("--protocol", help="pixel, paper, l2 or patch, in place of the suite's.")
    ] = None
    norm: Annotated[str | None, _opt("--norm", help="l2: short for --protocol l2.")] = None
    set: Annotated[
        list[str],
        _opt(
            "--set",
            metavar="ATTACK.CONSTANT=VALUE",
            help="Another constant than the protocol's, like pgd.steps=40; flagged.",
        ),
    ] = field(default_factory=list)
    restarts: Annotated[
        int | None, _opt("--restarts", help="Worst of N runs of PGD: --set pgd.restarts=N.")
    ] = None
    spsa_steps: Annotated[
        int | None, _opt("--spsa-steps", help="Short for --set spsa.steps=N.")
    ] = None
    spsa_samples: Annotated[
        int | None, _opt("--spsa-samples", help="Short for --set spsa.samples=N.")
    ] = None
    survivors: Annotated[
        bool, _opt("--survivors", help="Attack only what no attack has fooled.")
    ] = False
    attention: Annotated[
        str, _opt("--attention", help="Attention kernels: auto, explicit, fused.")
    ] = "auto"
    kernels: Annotated[
        str, _opt("--kernels", help="plain, onednn (linear layers on a CPU) or compiled.")
    ] = "plain"
    compile: Annotated[
        bool, _opt("--compile", help="Short for --kernels compiled: torch.compile.")
    ] = False
    memory_format: Annotated[
        str, _opt("--memory-format", help="contiguous, or channels_last: for convolutions.")
    ] = "contiguous"
    attack_precision: Annotated[
        str, _opt("--attack-precision", help="fp32, tf32, bf16 or fp16; scores: fp32.")
    ] = "fp32"
    expectation: Annotated[
        int, _opt("--expectation", help="Mean gradient of N draws of the network.")
    ] = 1
    draws: Annotated[int, _opt("--draws", help="Score each image in N draws of the network.")] = 1
