"""What can be found wrong before any work: with models, data sets, conditions and images."""

from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ..classifiers.classifier import Classifier
from ..classifiers.device import is_out_of_memory
from ..classifiers.gradient import eval_mode
from ..classifiers.known_models import ModelFacts
from ..conditions.condition import Condition, any_model
from ..data.dataset import Dataset, require_one_label
from ..data.imagenet import NUM_CLASSES
from ..errors import UserError
from ..files.printable import described
from ..seeds import seeded_globally
from .out_of_memory import no_room
from .tasks import Task


def check_request(
    models: Mapping[str, Classifier] | Mapping[str, ModelFacts], tasks: Sequence[Task]
) -> dict[str, int]:
    """Refuse what could not be evaluated.

    Nothing is written before: a run folder with a mistake in it could not be gone on with. Of
    models whose networks are not built, all but what `needs_networks` says is checked.

    Returns:
        How many logits each model has, which a network may have been shown an image for.

    Raises:
        UserError: no data set, two of one name, one condition twice, attacks on images of several
            right labels, budgets or attacks that mean nothing for a model, or a model of other
            classes than the data set's.
    """
    if not tasks:
        raise UserError("no data set is given; name at least one")
    for name, number in Counter(task.data.name for task in tasks).items():
        if number > 1:
            raise UserError(
                f"{number} data sets are called {name}, and results could not tell them apart; "
                "rename a folder, or evaluate them in runs of their own"
            )
    for task in tasks:
        _check_once(task)
        _check_labels(task)
    return {label: _check_model(label, model, tasks) for label, model in models.items()}


def fit(models: Mapping[str, ModelFacts], tasks: Sequence[Task]) -> bool:
    """Whether `check_request` refuses nothing, as far as it can be known without networks."""
    try:
        check_request(models, tasks)
    except UserError:
        return False
    return True


def _check_model(label: str, model: Classifier | ModelFacts, tasks: Sequence[Task]) -> int:
    takes_pixels = model.takes_pixels if isinstance(model, ModelFacts) else model.normalize is None
    for task in tasks:
        _check_budgets(label, model.preprocessing.crop, takes_pixels, task.conditions)
        if isinstance(model, Classifier):
            for condition in task.conditions:
                condition.check_model(condition.settings, model)
    classes = count_logits(label, model)
    for task in tasks:
        check_classes(label, classes, task.data)
    return classes


def needs_networks(tasks: Sequence[Task]) -> bool:
    """Whether a condition looks at networks themselves before it is evaluated on them."""
    return any(item.check_model is not any_model for task in tasks for item in task.conditions)


def check_survivors(tasks: Sequence[Task]) -> None:
    """Refuse survivors mode where it would do nothing.

    Raises:
        UserError: no attack is asked for.
    """
    if not any(condition.is_attacked for task in tasks for condition in task.conditions):
        raise UserError(
            "--survivors leaves out what an attack has fooled, and no attack is asked for; leave "
            "--survivors out, or name attacks with --attacks"
        )


def _check_once(task: Task) -> None:
    for condition, number in Counter(condition.key for condition in task.conditions).items():
        if number > 1:
            raise UserError(
                f"condition {condition} is given {number} times for {task.data.name}; give it once"
            )


def _check_labels(task: Task) -> None:
    """What an attack leads away from, or towards, is one label."""
    for condition in task.conditions:
        if condition.is_attacked:
            require_one_label(task.data, condition.id)


def _check_budgets(
    label: str, side: int, takes_pixels: bool, conditions: Sequence[Condition]
) -> None:
    """Patches fit, and a budget in normalised units means nothing for pixels as input."""
    for item in conditions:
        if item.threat.norm == "patch" and item.eps > side:
            raise UserError(
                f"{item.id}: a patch of {item.eps} x {item.eps} px is larger than the images of "
                f"{label}, {side} x {side} px; give --eps of at most {side}, like {side // 4}"
            )
    normalized = [item for item in conditions if item.threat.space == "normalized"]
    if normalized and takes_pixels:
        raise UserError(
            f"{label} takes pixels, so protocol {normalized[0].protocol}, whose budgets are in "
            "normalised units, means nothing for it; use protocol pixel, or say --normalize"
        )


def check_classes(label: str, classes: int, data: Dataset) -> None:
    """Refuse a network of other classes than the data set's.

    Args:
        label: of the model.
        classes: how many logits the network has.
        data: the images.

    Raises:
        UserError: they cannot be the same classes.
    """
    expected = data.num_classes if data.space is None else NUM_CLASSES
    needs = "needs ImageNet-1k's 1000" if data.space is not None else f"needs {expected}"
    if expected is None and data.highest_label >= classes:
        needs, expected = f"has labels up to {data.highest_label}", data.highest_label + 1
    if expected not in (None, classes):
        raise UserError(
            f"{label} has {classes} classes, {data.name} {needs}; they must be the same classes: "
            f"give --data with {classes} classes or a --model with {expected} (--num-classes "
            f"{expected} if a checkpoint of your own has them)"
        )


def network_failure(label: str, x: Tensor, error: BaseException) -> UserError:
    """What is wrong where a network cannot be run on images x at all."""
    return UserError(
        f"{label}: the network fails on images of {tuple(x.shape)}: "
        f"{described(error)}; check --crop and the model"
    )


def count_logits(label: str, classifier: Classifier | ModelFacts) -> int:
    """How many logits a classifier has; where nothing says it, one grey image is shown to it.

    Raises:
        UserError: the network cannot be run at all.
    """
    if isinstance(classifier, ModelFacts):
        return classifier.classes
    declared = getattr(classifier.network, "num_classes", None)
    if isinstance(declared, int) and classifier.select is None:
        return declared
    side = classifier.preprocessing.crop
    grey = torch.full((1, 3, side, side), 0.5, device=classifier.device)
    try:
        with torch.no_grad(), eval_mode(classifier), seeded_globally(0):
            logits = classifier(grey)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise no_room(label) from error
        raise network_failure(label, grey, error) from error
    return int(logits.shape[1])
