"""analyze: what networks make of the tokens of images."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ...errors import UserError
from ...files.printable import one_line
from ..request.analysis import (
    ANALYSES,
    SHARED,
    AnalysisOptions,
    choose_for_spectrum,
    open_images,
    parse_names,
)
from ..request.command import add_command

if TYPE_CHECKING:
    from reports.representations.subject import Subject

    from ...analysis.measures import Measure
    from ...classifiers.classifier import Classifier
    from ...conditions.condition import Condition
    from ...data.dataset import Dataset
    from ...evaluation.options import Options
    from ..terminal import Console

LeftOut = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Label to condition, empty for the images as they are, to image, to why it is not there."""
DRAWN = ("attention", "block")
"""Tensors that are drawn where none is named."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(
        app,
        "analyze",
        run,
        options=AnalysisOptions,
        help_text="What networks make of tokens: similarity, attention, spectrum.",
        only=(*SHARED, "analysis", "spectrum_images", "tensor", "tokens", "under"),
    )


def run(options: AnalysisOptions) -> None:
    """Do the analyses that are asked for, into one folder."""
    from ..analysis_files import write_kernels
    from ..request.request import default_out
    from ..run_folders import check_out
    from ..terminal import Console

    known = ",".join(ANALYSES) if options.analysis == "all" else options.analysis
    analyses = parse_names("--analysis", known, ANALYSES)
    check_out(None if options.out is None else Path(options.out))
    console = Console()
    of_models = [name for name in analyses if name != "kernels"]
    if of_models:
        out = _analyze_models(options, of_models, console)
    elif options.model or options.data or options.under:
        raise UserError(
            "--analysis kernels draws two polynomials and looks at no model; leave --model, "
            "--data and --under out, or name another analysis, too"
        )
    else:
        out = Path(options.out or default_out("analysis-kernels"))
    if "kernels" in analyses:
        write_kernels(out, console)
    _say(console, f"analysis: {out}")


def _analyze_models(
    options: AnalysisOptions, analyses: "Sequence[str]", console: "Console"
) -> Path:
    """Measure all models on the same images, write tables and pictures, print the last layers."""
    from ...analysis import measures
    from ...analysis.record import describe, save
    from ..analysis_files import write_attention, write_similarity, write_spectrum
    from ..request.corruptions import shortfalls
    from ..request.models import load_models, set_threads
    from ..request.request import default_out, make_run_options
    from ..request.under import read_under

    tensors = _tensors(options, analyses)
    if not options.model:
        raise UserError("no --model is given; name one, like --model deit_tiny_patch16_224")
    computing = make_run_options(options)
    set_threads(options.threads)
    conditions = read_under(options)
    data = open_images(options, needs_labels=any(item.is_attacked for item in conditions))
    few = choose_for_spectrum(options, analyses, data)
    lacking = shortfalls(conditions, data)
    models = load_models(options).models
    _check_models(models, data, conditions)
    _warn(console, lacking)
    out = Path(options.out or default_out(f"analysis-{next(iter(models))}"))
    available = {"similarity": measures.similarity(tensors), "attention": measures.attention()}
    passes = [
        Pass(data, {name: available[name] for name in analyses if name != "spectrum"}, computing)
    ]
    if "spectrum" in analyses:  # an image a batch: its eigenvalues take far longer than its pass
        passes.append(
            Pass(few, {"spectrum": measures.spectrum()}, replace(computing, batch_size=1))
        )
    subjects, left_out = _measure(models, data, passes, conditions)
    _warn(console, _left_out(left_out))
    pictures: list[Path] = []
    if "similarity" in analyses:
        drawn = tensors if options.tensor else [name for name in tensors if name in DRAWN]
        pictures += write_similarity(
            subjects, out, console, drawn=drawn, tokens=options.tokens, seed=options.seed
        )
    if "attention" in analyses:
        write_attention(subjects, out, console)
    if "spectrum" in analyses:
        pictures += write_spectrum(subjects, out, console, n_images=len(data))
    settings = {
        "analyses": analyses,
        "tensors": tensors,
        "tokens": options.tokens,
        "seed": options.seed,
        **({"spectrum_images": few.ids} if "spectrum" in analyses else {}),
    }
    described = describe(
        *(models, data, computing),
        settings=settings,
        left_out=left_out,
        conditions=conditions,
        pictures=[path.name for path in pictures if path.suffix == ".png"],
    )
    save(described, out)
    return out


def _check_models(
    models: "Mapping[str, Classifier]", data: "Dataset", conditions: "Sequence[Condition]"
) -> None:
    """Refuse networks that cannot be looked into, and attacks that mean nothing for one."""
    from ...classifiers.probe import check_supported
    from ...evaluation.tasks import make_task
    from ...evaluation.validation import check_request

    for model in models.values():
        check_supported(model)
    attacks = [condition for condition in conditions if condition.is_attacked]
    if attacks:
        check_request(models, [make_task(data, attacks)])


def _tensors(options: AnalysisOptions, analyses: "Sequence[str]") -> list[str]:
    """Those of tokens that are measured."""
    from ...analysis.measures import TOKEN_TENSORS, TOKENS

    if options.tokens not in TOKENS:
        raise UserError(f"--tokens {options.tokens!r} is unknown; it is all or patches")
    if options.tensor is None:
        return list(TOKEN_TENSORS)
    if "similarity" not in analyses:
        raise UserError("--tensor is for --analysis similarity; add that, or leave --tensor out")
    return parse_names("--tensor", options.tensor, TOKEN_TENSORS)


class Pass(NamedTuple):
    """Images that are shown, and what is measured meanwhile."""

    data: "Dataset"
    measures: "Mapping[str, Measure]"
    options: "Options"


def _measure(
    models: "Mapping[str, Classifier]",
    data: "Dataset",
    passes: "Sequence[Pass]",
    conditions: "Sequence[Condition]",
) -> "tuple[Sequence[Subject], LeftOut]":
    """Numbers of all models, and which images could not be decoded or made for each."""
    from reports.representations.subject import Subject

    from ...analysis.running import joined, measure_images
    from ...evaluation.runner import units
    from ..progress import show_progress

    subjects, left_out = list[Subject](), dict[str, Mapping[str, Mapping[str, str]]]()
    passes = [shown for shown in passes if shown.measures]
    images = len(models) * sum(len(shown.data) for shown in passes)
    # Each image is looked at as it is and under each condition; an attack's own passes come before.
    looks = 1 + len(conditions) + units([item for item in conditions if item.is_attacked])
    with show_progress(images, images * looks) as report:
        for label, model in models.items():
            measured = [
                measure_images(label, model, *shown, conditions=conditions, report=report)
                for shown in passes
            ]
            by_condition = {
                under: joined([of_pass[under] for of_pass in measured]) for under in measured[0]
            }
            left_out[label] = {under: numbers.left_out for under, numbers in by_condition.items()}
            subjects += [
                Subject(
                    label,
                    model.record.model,
                    model.record.checkpoint_sha256,
                    data.name,
                    (*model.record.flags, *data.flags, *numbers.flags),
                    data.ids,
                    numbers.tables,
                    under,
                )
                for under, numbers in by_condition.items()
            ]
    return subjects, left_out


def _left_out(left_out: "LeftOut") -> "Iterator[str]":
    """What is to be known of images that are not in the numbers of a condition."""
    for label, by_condition in left_out.items():
        for under, images in by_condition.items():
            if under and images:
                noun = "image is" if len(images) == 1 else "images are"
                reason = next(iter(images.values()))
                yield f"{label} under {under}: {len(images)} {noun} left out: {one_line(reason)}"


def _warn(console: "Console", lines: "Iterable[str]") -> None:
    for line in lines:
        _say(console, f"warning: {line}")


def _say(console: "Console", line: str) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)
