"""From --model and the options about networks to classifiers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from ...checkpoints.contents import Choice
from ...classifiers.classifier import Classifier
from ...classifiers.known_models import ModelFacts, load_and_keep, recall_model
from ...classifiers.user_code import is_user_code
from ...data.preprocessing import IMAGENET_MEAN, IMAGENET_STD
from ...errors import UserError
from ...evaluation.tasks import Task
from ...evaluation.validation import check_request
from ...models.family import ModelRecord
from ...registry import unknown
from ..options.evaluation import OF_PIXELS, EvalOptions

NO_ADAPTER = "none"
"""Of --adapter: a model without any, among others with one."""


class LoadedModels(NamedTuple):
    """What --model named.

    Attributes:
        models: label to classifier, in the order of the options.
        left_out: under --on-bad-model skip, ``--model NAME=FILE: reason`` for each that is not
            among them.
    """

    models: Mapping[str, Classifier]
    left_out: tuple[str, ...] = ()


def load_models(options: EvalOptions, tasks: Sequence[Task] = ()) -> LoadedModels:
    """Load every --model, under its label.

    Args:
        options: as typed.
        tasks: what the models are to be evaluated on; under --on-bad-model skip, one that does not
            fit them is left out, too.

    Raises:
        UserError: labels that do not match, options that contradict each other; a checkpoint that
            is missing or does not fit, unless such a model is to be skipped and another one is not.
    """
    _check_options(options)
    skip = options.on_bad_model == "skip"
    if skip and tasks:
        check_request({}, tasks)  # what is wrong with the data is no model's fault
    labels = options.label or [""] * len(options.model)
    adapters = options.adapter or [NO_ADAPTER] * len(options.model)
    loaded, left_out = list[tuple[str, Classifier]](), list[str]()
    for argument, label, adapter in zip(options.model, labels, adapters, strict=True):
        try:
            model = load_and_keep(**_arguments(options, argument, adapter))
            if skip and tasks:
                check_request({label or model.record.model: model}, tasks)
            loaded.append((label, model))
        except UserError as error:
            if not skip:
                raise
            left_out.append(f"--model {argument}: {error}")
    if not loaded:
        raise UserError(f"no model is left to evaluate: {'; '.join(left_out)}")
    given = [label for label, _ in loaded] if options.label else []
    models = [model for _, model in loaded]
    names = _labels(given, [model.record for model in models])
    return LoadedModels(dict(zip(names, models, strict=True)), tuple(left_out))


def _check_options(options: EvalOptions) -> None:
    """Refuse what is wrong whatever the files hold."""
    if options.weights not in get_args(Choice):
        raise unknown("--weights", options.weights, get_args(Choice))
    if options.num_classes is not None and options.num_classes < 1:
        raise UserError(f"--num-classes {options.num_classes} is not a positive number")
    if options.on_bad_model not in ("stop", "skip"):
        raise unknown("--on-bad-model", options.on_bad_model, ("stop", "skip"))
    _check_counts(options)
    parse_normalize(options.normalize)
    parse_triple("--mean", options.mean)
    parse_triple("--std", options.std)
    for argument in options.model:
        name, _, named = argument.partition("=")
        if is_user_code(name):
            _check_user_code(options, named or options.checkpoint)
        if named and options.checkpoint:
            raise UserError(f"--model {argument} names a checkpoint, and --checkpoint another one")


def _check_counts(options: EvalOptions) -> None:
    """What goes by the order of --model is there for each."""
    without = f", {NO_ADAPTER} for one without"
    for option, given, more in (
        ("--label", options.label, ""),
        ("--adapter", options.adapter, without),
    ):
        if given and len(given) != len(options.model):
            raise UserError(
                f"{len(given)} {option} for {len(options.model)} --model; give one for each{more}"
            )


def known_models(options: EvalOptions) -> Mapping[str, ModelFacts] | None:
    """What is known of every --model, under its label, because it was loaded before.

    Returns:
        None where only loading can tell, also what is wrong.
    """
    adapters = options.adapter or [NO_ADAPTER] * len(options.model)
    facts = list[ModelFacts]()
    try:
        _check_options(options)
        for argument, adapter in zip(options.model, adapters, strict=True):
            known = recall_model(**_arguments(options, argument, adapter))
            if known is None:
                return None
            facts.append(known)
        labels = _labels(options.label, [model.record for model in facts])
    except UserError:
        return None  # loading says what is wrong
    return dict(zip(labels, facts, strict=True))


def _arguments(options: EvalOptions, argument: str, adapter: str) -> dict[str, Any]:
    """As `load_model` takes them."""
    name, _, checkpoint = argument.partition("=")
    return {
        "name": name,
        "checkpoint": checkpoint or options.checkpoint,
        "weights": options.weights,
        "num_classes": options.num_classes,
        "arch_override": options.arch_override,
        "attention": options.attention,
        "kernels": _kernels(options),
        "memory_format": options.memory_format,
        "normalize": parse_normalize(options.normalize),
        "adapter": None if adapter == NO_ADAPTER else adapter,
        **pixels_asked(options),
    }


def pixels_asked(options: EvalOptions) -> dict[str, Any]:
    """How photographs are to become a network's input, as `load_model` takes it.

    Args:
        options: as typed.

    Raises:
        UserError: a mean or std that is not three numbers.
    """
    asked = {name: getattr(options, name) for name in OF_PIXELS}
    return asked | {part: parse_triple(f"--{part}", asked[part]) for part in ("mean", "std")}


def one_adapter(options: EvalOptions) -> str | None:
    """The adapter of a command that looks at one model.

    Args:
        options: as typed.

    Raises:
        UserError: several.
    """
    if len(options.adapter) > 1:
        raise UserError(f"{len(options.adapter)} --adapter for one checkpoint; give one")
    return next((adapter for adapter in options.adapter if adapter != NO_ADAPTER), None)


def _kernels(options: EvalOptions) -> str:
    if not options.compile:
        return options.kernels
    if options.kernels not in ("plain", "compiled"):
        raise UserError(
            f"--compile and --kernels {options.kernels} compute in different ways; give one of them"
        )
    return "compiled"


def _check_user_code(options: EvalOptions, checkpoint: str | None) -> None:
    """Own code builds its own network; options about that are refused, not ignored."""
    unused = {
        "--num-classes": options.num_classes is not None,
        "--attention": options.attention != "auto",
        "--arch-override": options.arch_override,
        "--weights": options.weights != "auto" and checkpoint is None,
    }
    for option, given in unused.items():
        if given:
            raise UserError(f"{option} does nothing for a model of your own code; leave it out")


def _labels(given: Sequence[str], models: Sequence[ModelRecord]) -> list[str]:
    """Given labels, or model names, with the file's hash where two would collide."""
    names = list(given) or [model.model for model in models]
    labels = list(names)
    for index, model in enumerate(models):
        if not given and names.count(names[index]) > 1:
            digest = model.checkpoint_sha256 or model.weights_sha256
            labels[index] = f"{names[index]}#{digest[:8]}"
    for label in labels:
        if labels.count(label) > 1:
            problem = (
                f"two models would be called {label!r}"
                if given
                else f"--model {names[labels.index(label)]} is given twice with the same weights; "
                "name it once"
            )
            raise UserError(f"{problem}, or give each a --label of its own")
    return labels


def parse_triple(option: str, text: str | None) -> tuple[float, float, float] | None:
    """Three numbers, one per channel.

    Args:
        option: named where they are wrong.
        text: as typed; None where it is not given.

    Raises:
        UserError: not three numbers.
    """
    if text is None:
        return None
    try:
        red, green, blue = (float(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"{option} {text!r} is not three numbers, like 0.485,0.456,0.406") from None
    return red, green, blue


def parse_normalize(text: str | None) -> tuple[Any, Any] | None:
    """Mean and std that a user's network expects.

    Args:
        text: ``imagenet`` or ``r,g,b/r,g,b``; None where the network normalises its input itself.

    Raises:
        UserError: not two triples.
    """
    if text is None:
        return None
    if text == "imagenet":
        return IMAGENET_MEAN, IMAGENET_STD
    mean, slash, std = text.partition("/")
    if not slash:
        raise UserError(f"--normalize {text!r} is not MEAN/STD; write imagenet or r,g,b/r,g,b")
    return parse_triple("--normalize", mean), parse_triple("--normalize", std)
