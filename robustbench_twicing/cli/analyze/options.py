"""Options of an analysis: those of an evaluation that mean something to it, and its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UserError
from ...registry import unknown
from ..options.evaluated import WHAT
from ..options.evaluation import OF_IMAGES, OF_MODELS, OF_PIXELS, EvalOptions
from ..options.printed import Quiet
from ..options.run import RUN

if TYPE_CHECKING:
    from ...data.dataset import Dataset

SHARED = (
    *OF_MODELS,
    *("data", *OF_IMAGES),
    *("protocol", "set", "imagenet_c", "imagenet_c_jpeg", "imagenet_c_size", "frost_dir"),
    *("attention", "memory_format"),
    *(*OF_PIXELS, "normalize", "on_bad_image"),
    *("batch_size", "device", "threads", "workers", "cache", "seed", "out"),
)
"""Those of eval that change what is analysed, or how it is computed."""
ANALYSIS = "What is analysed"
_opt = partial(typer.Option, rich_help_panel=ANALYSIS)
ANALYSES = ("similarity", "attention", "spectrum", "kernels")

SPECTRUM_IMAGES = 8
"""Unless another number is given."""


@dataclass(frozen=True)
class AnalysisOptions(EvalOptions):
    """What `analyze` is asked for, as typed on the command line."""

    run_dirs: Annotated[
        list[Path],
        typer.Argument(
            metavar="[RUN_DIRS]...",
            help="Run folders, whose models and images are analysed in place of --model's.",
        ),
    ] = field(default_factory=list)
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            help="Seeded subset of N images, the same for every model.",
            rich_help_panel=WHAT,
        ),
    ] = 100
    analysis: Annotated[
        str,
        _opt(
            "--analysis",
            metavar="NAMES",
            help="Of similarity, attention, spectrum, kernels, or all; kernels alone needs no "
            "model.",
        ),
    ] = "similarity,attention"
    spectrum_images: Annotated[
        int | None,
        _opt(
            "--spectrum-images",
            metavar="N",
            help="So many of the images have their eigenvalues computed; else 8.",
        ),
    ] = None
    tensor: Annotated[
        str | None,
        _opt(
            "--tensor",
            metavar="NAMES",
            help="Measured and drawn, of attention, block, mix; else all, and the first two.",
        ),
    ] = None
    tokens: Annotated[
        str, _opt("--tokens", help="Drawn: all, or patches, to compare families.")
    ] = "all"
    under: Annotated[
        list[str],
        _opt(
            "--under",
            metavar="CONDITION",
            help="Once more under pgd@1/255, imagenet-c/fog/3, ...; repeat, or list with commas.",
        ),
    ] = field(default_factory=list)
    quiet: Quiet = False
    out: Annotated[
        str | None,
        typer.Option(
            help="Folder of tables and pictures; for a run folder `analysis` in it unless given.",
            rich_help_panel=RUN,
        ),
    ] = None


def choose_for_spectrum(
    options: AnalysisOptions, analyses: Sequence[str], data: "Dataset"
) -> "Dataset":
    """Those of the images whose eigenvalues are computed, a second each: `SPECTRUM_IMAGES`.

    They are those of a --limit of that size, spread over the classes.

    Args:
        options: as typed.
        analyses: that are asked for.
        data: all images.

    Raises:
        UserError: not a positive number, or one that nothing is done with.
    """
    from ...data.dataset import limit_dataset

    size = options.spectrum_images
    if size is not None and "spectrum" not in analyses:
        raise UserError(
            "--spectrum-images is for --analysis spectrum; add that, or leave --spectrum-images out"
        )
    if size is not None and size < 1:
        raise UserError(f"--spectrum-images {size} is not a positive number")
    return limit_dataset(data, size or SPECTRUM_IMAGES, seed=options.limit_seed)


def parse_names(option: str, text: str, known: Sequence[str]) -> list[str]:
    """Names separated by commas, each once.

    Args:
        option: where they were typed.
        text: as typed.
        known: what they may be.

    Raises:
        UserError: one is unknown, or none is there.
    """
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise unknown(option, name, known)
    return names


def chosen_tensors(options: AnalysisOptions, analyses: Sequence[str]) -> list[str]:
    """Which tensors of tokens are measured.

    Args:
        options: as typed.
        analyses: which are done.

    Raises:
        UserError: an unknown one, or a choice that would change nothing.
    """
    from ...analysis.measures import TOKEN_TENSORS, TOKENS

    if options.tokens not in TOKENS:
        raise unknown("--tokens", options.tokens, TOKENS)
    option = "--tensor" if options.tensor else "--tokens" if options.tokens != "all" else ""
    if option and "similarity" not in analyses:
        raise UserError(f"{option} is for --analysis similarity; add that, or leave {option} out")
    if options.tensor is None:
        return list(TOKEN_TENSORS)
    return parse_names("--tensor", options.tensor, TOKEN_TENSORS)


INDIFFERENT = ("analysis", "out", "device", "threads", "workers", "batch_size", "quiet")
"""Options that are no mistake where no network is looked at."""


def folder_given(options: AnalysisOptions) -> Path | None:
    """Where results go to: --out, or ``analysis`` in a run folder; None where neither is given.

    Raises:
        UserError: several run folders.
    """
    if options.out is not None or not options.run_dirs:
        return None if options.out is None else Path(options.out)
    if len(options.run_dirs) > 1:
        raise UserError(
            f"{len(options.run_dirs)} run folders are analysed together; give --out DIR"
        )
    return options.run_dirs[0] / "analysis"
