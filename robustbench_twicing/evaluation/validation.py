"""What can be found wrong with models, data sets and conditions before any work is done."""

from collections import Counter
from collections.abc import Mapping, Sequence

import torch

from ..classifiers.classifier import Classifier
from ..classifiers.device import is_out_of_memory
from ..classifiers.gradient import eval_mode
from ..conditions.condition import Condition
from ..data.image_maker import place_of
from ..data.imagenet import NUM_CLASSES
from ..errors import UserError
from .out_of_memory import no_room
from .tasks import Task


def check_request(models: Mapping[str, Classifier], tasks: Sequence[Task]) -> None:
    """Refuse what could not be evaluated.

    Nothing is written before: a run folder with a mistake in it could not be gone on with.

    Raises:
        UserError: no data set, two of one name, budgets that mean nothing for a model, or a model
            of other classes than the data set's.
    """
    if not tasks:
        raise UserError("no data set is given; name at least one")
    for name, number in Counter(task.data.name for task in tasks).items():
        if number > 1:
            raise UserError(
                f"{number} data sets are called {name}, and results could not tell them apart; "
                "rename a folder, or evaluate them in runs of their own"
            )
    for label, classifier in models.items():
        for task in tasks:
            _check_budgets(label, classifier, task.conditions)
        _check_classes(label, classifier, tasks)


def _check_budgets(label: str, classifier: Classifier, conditions: Sequence[Condition]) -> None:
    """A budget in normalised units means nothing for a network that takes pixels."""
    normalized = [each for each in conditions if each.threat.space == "normalized"]
    if normalized and classifier.normalize is None:
        raise UserError(
            f"{label} takes pixels, so protocol {normalized[0].protocol}, whose budgets are in "
            "normalised units, means nothing for it; use protocol pixel, or say --normalize"
        )


def _check_classes(label: str, classifier: Classifier, tasks: Sequence[Task]) -> None:
    found = count_logits(label, classifier)
    for data in (task.data for task in tasks):
        wanted = data.num_classes if data.space is None else NUM_CLASSES
        needs = "needs ImageNet-1k's 1000" if data.space is not None else f"needs {wanted}"
        highest = max(data.labels, default=0)
        if wanted is None and highest >= found:
            needs, wanted = f"has labels up to {highest}", highest + 1
        if wanted not in (None, found):
            raise UserError(
                f"{label} has {found} classes, {data.name} {needs}; they must be the same classes"
            )


def count_logits(label: str, classifier: Classifier) -> int:
    """How many logits a classifier has; where nothing says it, one grey image is shown to it.

    Raises:
        UserError: the network cannot be run at all.
    """
    declared = getattr(classifier.network, "num_classes", None)
    if isinstance(declared, int) and classifier.select is None:
        return declared
    side = classifier.preprocessing.crop
    grey = torch.full((1, 3, side, side), 0.5, device=classifier.device)
    try:
        with torch.no_grad(), eval_mode(classifier):
            logits = classifier(grey)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise no_room(label) from error
        raise UserError(
            f"{label}: the network fails on a grey image of {tuple(grey.shape)}: "
            f"{type(error).__name__}: {error}{place_of(error)}"
        ) from error
    return int(logits.shape[1])
