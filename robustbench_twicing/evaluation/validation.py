"""What can be found wrong before any work: with models, data sets, conditions and images."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import pandas as pd
import torch
from torch import Tensor

from ..classifiers.classifier import Classifier
from ..classifiers.device import is_out_of_memory
from ..classifiers.gradient import eval_mode
from ..conditions.condition import Condition
from ..data.dataset import Dataset, require_one_label
from ..data.image_maker import ImageRequest, Maker, place_of
from ..data.imagenet import NUM_CLASSES
from ..data.loader import pixels_hash
from ..errors import UserError
from ..records.manifest import Evaluation
from ..records.run_folder import RunFolder
from ..seeds import seeded_globally
from .out_of_memory import no_room
from .tasks import Task

PARTS = 8
"""How many finished parts are looked into: one decoded image each."""


def check_request(models: Mapping[str, Classifier], tasks: Sequence[Task]) -> None:
    """Refuse what could not be evaluated.

    Nothing is written before: a run folder with a mistake in it could not be gone on with.

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
    for label, classifier in models.items():
        for task in tasks:
            _check_budgets(label, classifier, task.conditions)
            for condition in task.conditions:
                condition.check_model(condition.settings, classifier)
        _check_classes(label, classifier, tasks)


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


def _check_budgets(label: str, classifier: Classifier, conditions: Sequence[Condition]) -> None:
    """Patches fit, and a budget in normalised units means nothing for pixels as input."""
    side = classifier.preprocessing.crop
    for item in conditions:
        if item.threat.norm == "patch" and item.eps > side:
            raise UserError(
                f"{item.id}: a patch of {item.eps} x {item.eps} px is larger than the images of "
                f"{label}, {side} x {side} px; give --eps of at most {side}, like {side // 4}"
            )
    normalized = [item for item in conditions if item.threat.space == "normalized"]
    if normalized and classifier.normalize is None:
        raise UserError(
            f"{label} takes pixels, so protocol {normalized[0].protocol}, whose budgets are in "
            "normalised units, means nothing for it; use protocol pixel, or say --normalize"
        )


def _check_classes(label: str, classifier: Classifier, tasks: Sequence[Task]) -> None:
    classes = count_logits(label, classifier)
    for task in tasks:
        check_classes(label, classes, task.data)


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
    highest = max((data.right(image)[-1] for image in range(len(data))), default=0)
    if expected is None and highest >= classes:
        needs, expected = f"has labels up to {highest}", highest + 1
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
        f"{type(error).__name__}: {error}{place_of(error)}; check --crop and the model"
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
        with torch.no_grad(), eval_mode(classifier), seeded_globally(0):
            logits = classifier(grey)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise no_room(label) from error
        raise network_failure(label, grey, error) from error
    return int(logits.shape[1])


def check_same_images(
    folder: RunFolder, evaluation: Evaluation, maker: Maker, conditions: Sequence[Condition]
) -> None:
    """Decode one image of some finished parts again and compare its pixels with the record.

    The fingerprint of a folder knows names and sizes of files; an image that was replaced by one
    of the same size shows only in its pixels. Of every condition whose images are files, which are
    known by their names, one image of the first of these parts is decoded, too.

    Args:
        folder: of the run.
        evaluation: as in its manifest.
        maker: of the images.
        conditions: of the evaluation.

    Raises:
        UserError: an image whose pixels are not those that were evaluated.
    """
    ids = {condition.id: condition.key for condition in conditions if _shows_files(condition)}
    for index, condition, recorded in _recorded(folder, evaluation, ids):
        (image,) = maker.make(ImageRequest(ids.get(condition), [index]))
        now = "unreadable" if isinstance(image, Exception) else pixels_hash(image)
        if now != recorded:
            under = f" under {condition}" if condition in ids else ""
            raise UserError(
                f"{folder.path} was made with other images: {maker.data.ids[index]} of "
                f"{maker.data.name}{under} is not what it was; put the images back, or use another "
                "--out"
            )


def _shows_files(condition: Condition) -> bool:
    return condition.images is not None and "listing_sha256" in condition.images.describe()


def _recorded(
    folder: RunFolder, evaluation: Evaluation, files: Collection[str]
) -> Iterator[tuple[int, str, str]]:
    """Position, condition and pixel hash of one image of every part that is looked into.

    Of conditions that show the images themselves; in the first part, of those of ``files``, too.
    """
    shown = [one.id for one in folder.manifest.conditions if one.images is None]
    missing = set(folder.missing(evaluation))
    finished = [part for part in range(folder.part_count(evaluation)) if part not in missing]
    last, most = len(finished) - 1, max(1, PARTS - 1)
    some = sorted({finished[last * number // most] for number in range(most + 1) if finished})
    for part, records in folder.some_parts(evaluation, some):
        rows = records.table.to_pandas().dropna(subset=["pixels_sha256"])
        looked_into = [rows[rows["condition"].isin(shown)].head(1)]
        if part == finished[0]:
            looked_into += [rows[rows["condition"] == name].head(1) for name in files]
        for row in pd.concat(looked_into).to_dict("records"):
            yield int(row["index"]), str(row["condition"]), str(row["pixels_sha256"])
