"""Options of the run: how it is computed, and where it goes."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

RUN = "The run"
_opt = partial(typer.Option, rich_help_panel=RUN)


@dataclass(frozen=True)
class RunOptions:
    """How the run is computed, and where it goes."""

    batch_size: Annotated[
        str, _opt("--batch-size", help="Images a batch, or auto: as many as are fast.")
    ] = "32"
    part_size: Annotated[
        int, _opt("--part-size", help="Images a part of a new run; else: a batch.")
    ] = 0
    device: Annotated[str, _opt("--device", help="auto, cpu or cuda.")] = "auto"
    threads: Annotated[int | None, _opt("--threads", help="CPU threads of the network.")] = None
    workers: Annotated[
        int, _opt("--workers", help="Processes that read and corrupt images; 1: none.")
    ] = 1
    cache: Annotated[
        str | None, _opt("--cache", metavar="DIR", help="Keep decoded crops here for later.")
    ] = None
    max_hours: Annotated[
        float | None, _opt("--max-hours", metavar="H", help="Start no part that would end later.")
    ] = None
    seed: Annotated[int, _opt("--seed", help="Base seed of every random draw.")] = 0
    shard: Annotated[str, _opt("--shard", metavar="I/N", help="Compute the I-th of N shards.")] = (
        "1/1"
    )
    score_8bit: Annotated[
        str | None, _opt("--score-8bit", help="Scored in 8 bits, too: sample (one in 8) or all.")
    ] = None
    save_adversarial: Annotated[
        int, _opt("--save-adversarial", metavar="N", help="Keep adversarial images of the first N.")
    ] = 0
    out: Annotated[str | None, _opt("--out", help="Run folder; continues where it stopped.")] = None
