"""analyze: what networks make of the tokens of images."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ...errors import UserError
from ..analyze.maps import MAPS, MapOptions, check_map_options, map_choice
from ..analyze.options import (
    ANALYSES,
    INDIFFERENT,
    SHARED,
    choose_for_spectrum,
    chosen_tensors,
    folder_given,
    parse_names,
)
from ..options.command import add_command, options_given

if TYPE_CHECKING:
    from reports.representations.subject import Subject

    from ...analysis.attention_maps import MapChoice
    from ...analysis.measures import Measure
    from ...analysis.record import LeftOut
    from ...classifiers.classifier import Classifier
    from ...conditions.condition import Condition
    from ...data.dataset import Dataset
    from ...evaluation.options import Options
    from ..terminal import Console

DRAWN = ("attention", "block")
"""Tensors that are drawn where none is named."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(
        app,
        "analyze",
        run,
        options=MapOptions,
        help_text="What networks make of tokens: similarity, attention, spectrum.",
        only=(
            *(*SHARED, "run_dirs", "analysis", "spectrum_images", "tensor", "tokens", "under"),
            *(*MAPS, "picture_style", "quiet"),
        ),
    )


def run(options: MapOptions) -> None:
    """Do the analyses that are asked for, into one folder."""
    from ..analyze.files import write_kernels
    from ..request.request import default_out
    from ..run_folders import check_out
    from ..terminal import Console

    named = parse_names("--analysis", options.analysis, (*ANALYSES, "all"))
    analyses = list(ANALYSES) if "all" in named else named
    check_map_options(options, analyses)
    folder = folder_given(options)
    check_out(folder)
    console = Console(terse=options.quiet)
    of_models = [name for name in analyses if name != "kernels"]
    if of_models:
        out = _analyze_models(options, of_models, console, folder)
    elif given := options_given(options, but=INDIFFERENT):
        name = "run folders" if given[0] == "--run-dirs" else given[0]
        raise UserError(
            f"--analysis kernels draws two polynomials and looks at no model; leave {name} out, or "
            "name another analysis, too"
        )
    else:
        out = folder or default_out("analysis-kernels")
    if "kernels" in analyses:
        write_kernels(out, console)
    console.say(f"analysis: {out}")


def _analyze_models(
    options: MapOptions, analyses: "Sequence[str]", console: "Console", folder: Path | None
) -> Path:
    """Measure all models on the same images, write tables and pictures, print the last layers."""
    from ...analysis import measures
    from ...analysis.record import describe, left_out_lines, save
    from ..analyze.inputs import open_models_and_images
    from ..analyze.under import read_under
    from ..request.corruptions import shortfalls
    from ..request.request import default_out, make_run_options, prepare_cpu

    tensors = chosen_tensors(options, analyses)
    computing = make_run_options(options)
    prepare_cpu(options.threads)
    conditions = read_under(options)
    models, data = open_models_and_images(
        options, needs_labels=any(item.is_attacked for item in conditions)
    )
    few = choose_for_spectrum(options, analyses, data)
    lacking = shortfalls(conditions, data)
    maps = map_choice(options, analyses, data)
    _check_models(models, data, conditions, maps)
    console.warn(lacking)
    out = folder or default_out(f"analysis-{next(iter(models))}")
    measured = measures.by_name(analyses, tensors, each_head=options.heads == "each")
    passes = [Pass(data, measured, computing, maps)]
    if "spectrum" in analyses:  # an image a batch: its eigenvalues take far longer than its pass
        passes.append(
            Pass(few, {"spectrum": measures.spectrum()}, replace(computing, batch_size=1))
        )
    subjects, left_out = _measure(models, data, passes, conditions, hidden=options.quiet)
    console.warn(left_out_lines(left_out))
    pictures = _write(subjects, options, analyses, out, console, tensors=tensors)
    settings = {
        "analyses": analyses,
        "tensors": tensors,
        "tokens": options.tokens,
        "seed": options.seed,
        **({"spectrum_images": few.ids} if "spectrum" in analyses else {}),
        "maps": {} if maps is None else {name: getattr(options, name) for name in MAPS},
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
    models: "Mapping[str, Classifier]",
    data: "Dataset",
    conditions: "Sequence[Condition]",
    maps: "MapChoice | None",
) -> None:
    """Refuse networks that cannot be looked into or lack a layer, and attacks without a meaning."""
    from ...analysis.attention_maps import map_layers
    from ...classifiers.probe import check_supported
    from ...evaluation.tasks import make_task
    from ...evaluation.validation import check_request

    for model in models.values():
        check_supported(model)
        if maps is not None:
            map_layers(model, maps)
    attacks = [condition for condition in conditions if condition.is_attacked]
    if attacks:
        check_request(models, [make_task(data, attacks)])


def _write(
    subjects: "Sequence[Subject]",
    options: MapOptions,
    analyses: "Sequence[str]",
    out: Path,
    console: "Console",
    *,
    tensors: "Sequence[str]",
) -> list[Path]:
    """Tables and pictures of each analysis, and its last layers on the terminal; the pictures."""
    from ..analyze.files import write_attention, write_similarity, write_spectrum

    pictures: list[Path] = []
    if "similarity" in analyses:
        drawn = tensors if options.tensor else [name for name in tensors if name in DRAWN]
        pictures += write_similarity(
            subjects,
            out,
            console,
            drawn=drawn,
            tokens=options.tokens,
            seed=options.seed,
            style=options.picture_style,
        )
    if "attention" in analyses:
        pictures += write_attention(
            subjects, out, console, scale=options.scale, style=options.picture_style
        )
    if "spectrum" in analyses:
        pictures += write_spectrum(subjects, out, console, n_images=len(subjects[0].images))
    return pictures


class Pass(NamedTuple):
    """Images that are shown, and what is measured meanwhile."""

    data: "Dataset"
    measures: "Mapping[str, Measure]"
    options: "Options"
    maps: "MapChoice | None" = None


def _measure(
    models: "Mapping[str, Classifier]",
    data: "Dataset",
    passes: "Sequence[Pass]",
    conditions: "Sequence[Condition]",
    *,
    hidden: bool,
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
    with show_progress(images, images * looks, hidden=hidden) as report:
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
                    model.record.about.twicing,
                    numbers.crops,
                )
                for under, numbers in by_condition.items()
            ]
    return subjects, left_out
