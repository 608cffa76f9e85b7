"""Networks and images of an analysis: those of --model and --data, or those of run folders."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from ...checkpoints.declared import OVERRIDE_FLAG
from ...classifiers.classifier import Classifier
from ...classifiers.loading import load_model
from ...classifiers.user_code import is_user_code
from ...data.crop_cache import cache_crops
from ...data.dataset import Dataset, limit_dataset
from ...data.fashion_mnist import CUT
from ...data.samples import SAMPLES
from ...errors import UserError
from ...files.printable import name_some
from ...files.text import read_json
from ...records.identity import first_difference, preprocessing_identity
from ...records.manifest import SESSIONS, Evaluation
from ...records.run_folder import RunFolder
from ..options.evaluation import OF_MODELS, OF_PIXELS, EvalOptions
from ..request.data_sets import one_data, open_images
from ..request.models import load_models
from ..run_folders import open_runs
from .options import AnalysisOptions

OF_THE_RUN = (*OF_MODELS, *OF_PIXELS, "normalize")
"""Options that a run has answered."""


def open_models_and_images(
    options: AnalysisOptions, *, needs_labels: bool
) -> tuple[Mapping[str, Classifier], Dataset]:
    """Networks by label, and the images of one data set: those of --model and --data, or of runs.

    Args:
        options: as typed.
        needs_labels: whether the images are attacked.

    Raises:
        UserError: no model, no data set or several, or as `_reopen_runs`, `load_models` and
            `open_dataset`.
    """
    if options.run_dirs:
        models, data = _reopen_runs(options)
    elif options.model:
        data = open_images(options, one_data(options, "analyze"), needs_labels=needs_labels)
        models = load_models(options).models
    else:
        raise UserError(
            "no --model is given; name one, like --model deit_tiny_patch16_224, or a run folder"
        )
    return models, data if options.cache is None else cache_crops(data, Path(options.cache))


def _reopen_runs(options: AnalysisOptions) -> tuple[Mapping[str, Classifier], Dataset]:
    """Networks by label, loaded anew, and the images that all of the runs are of.

    Args:
        options: as typed, with run folders; ``data`` is for runs of several data sets, and for
            those that do not know where their images are.

    Raises:
        UserError: an option that a run has answered; weights or images that are not those of the
            run any more; runs of unlike images, or with one label for unlike networks.
    """
    _check_options(options)
    folders = open_runs(options.run_dirs)
    data = _open_images(folders[0], options)
    hashes, models = dict[str, str](), dict[str, Classifier]()
    for folder in folders:
        of_images = [
            evaluation
            for evaluation in folder.manifest.evaluations
            if evaluation.dataset.fingerprint == data.fingerprint
        ]
        if not of_images:
            raise UserError(
                f"{folder.path} is of other images than {folders[0].path}; analyse it by itself"
            )
        for evaluation in of_images:
            label, digest = evaluation.label, evaluation.record.weights_sha256
            if hashes.setdefault(label, digest) != digest:
                raise UserError(
                    f"{label} is one network in {folder.path} and another one in a run before it; "
                    "give --model in place of the runs, with a --label for each"
                )
            if label not in models:
                models[label] = _reload(evaluation, folder.path, options)
    if options.limit is not None:
        data = limit_dataset(data, options.limit, seed=options.limit_seed)
    return models, data


def _check_options(options: AnalysisOptions) -> None:
    for name in OF_THE_RUN:
        if getattr(options, name) != getattr(EvalOptions(), name):
            raise UserError(
                f"--{name.replace('_', '-')} is answered by {options.run_dirs[0]}; leave one of "
                "the two out"
            )


def _reload(evaluation: Evaluation, run: Path, options: AnalysisOptions) -> Classifier:
    label, record = evaluation.label, evaluation.record
    if is_user_code(record.model):
        raise UserError(
            f"{label} of {run} is code, {record.model}, which is not run because a run.json names "
            "it; give --model in place of the run"
        )
    sizes = record.details.get("sizes")
    classes = sizes.get("num_classes") if isinstance(sizes, dict) else None
    try:
        model = load_model(
            record.model,
            record.checkpoint,
            weights=cast(Any, record.weights or "auto"),
            num_classes=classes if isinstance(classes, int) else None,
            arch_override=OVERRIDE_FLAG in record.flags,
            adapter=record.details.get("adapter"),
            attention=options.attention,
            memory_format=options.memory_format,
            **evaluation.preprocessing.as_dict(),
        )
    except UserError as error:
        raise UserError(f"{label} of {run}: {error}") from error
    digest = model.record.weights_sha256
    if digest != record.weights_sha256:
        raise UserError(
            f"{label} of {run}: the weights of {record.checkpoint} have changed since the run "
            f"(sha256 {record.weights_sha256[:8]} there, {digest[:8]} here); give --model in "
            "place of the run"
        )
    difference = first_difference(
        preprocessing_identity(evaluation.preprocessing),
        preprocessing_identity(model.preprocessing),
    )
    if difference:
        raise UserError(
            f"{label} of {run}: {difference.between('there', 'here')}; give --model in "
            "place of the run, with the options of its eval"
        )
    return model


def _open_images(folder: RunFolder, options: AnalysisOptions) -> Dataset:
    """The data set of a run, whole as the run had it."""
    records = {one.dataset.name: one.dataset for one in folder.manifest.evaluations}
    specs = options.data or _remembered(folder, list(records))
    if options.data:
        one_data(options, "analyze")
    if len(specs) != 1:
        names = name_some(list(records))
        raise UserError(
            f"{folder.path} is of {names}, and does not say where the images are; give one --data"
        )
    data = open_images(_as_the_run(folder, options), specs[0])
    record = records.get(data.name, next(iter(records.values())))
    if record.limit_seed is not None:
        data = limit_dataset(data, record.n_images, seed=record.limit_seed)
    if data.fingerprint != record.fingerprint:
        given = "name the one that does, or leave --data out" if options.data else "give --data"
        raise UserError(
            f"--data {specs[0]} does not hold the images, or not the labels, that {folder.path} is "
            f"of; {given}"
        )
    return data


def _as_the_run(folder: RunFolder, options: AnalysisOptions) -> AnalysisOptions:
    """The options about images, those that are not given as the run was given them."""
    labels, class_order, classes, pixels = (
        getattr(options, name) or next(iter(_typed(folder, f"--{name.replace('_', '-')}")), None)
        for name in ("labels", "class_order", "classes", "max_pixels")
    )
    return replace(
        options,
        labels=labels,
        labels_superset=labels is not None,  # which of them the run had, the fingerprint tells
        class_order=class_order,
        classes=classes,
        max_pixels=int(str(pixels)) if str(pixels).isdecimal() else None,
        limit=None,
        limit_seed=0,
    )


def _remembered(folder: RunFolder, names: Sequence[str]) -> list[str]:
    """What --data was: the name, where that is enough, or what the command of the run said."""
    if len(names) == 1 and names[0] in (SAMPLES, CUT):
        return [*names]
    return _typed(folder, "--data")


def _typed(folder: RunFolder, option: str) -> list[str]:
    """The values of an option on the command lines of a run's sessions, each once."""
    values = dict[str, None]()
    for file in sorted((folder.path / SESSIONS).glob("*.json")):
        note = read_json(file)
        command = note.get("command") if isinstance(note, dict) else None
        words = [str(word) for word in command] if isinstance(command, list) else []
        for word, following in pairwise([*words, ""]):
            if word == option and following:
                values[following] = None
            elif word.startswith(f"{option}="):
                values[word.removeprefix(f"{option}=")] = None
    return list(values)
