"""A data set and what is done to its images; conditions as they are called on that data set."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import torch

from ..classifiers.classifier import Classifier
from ..conditions.condition import CLEAN, READOUT, Condition
from ..data.dataset import Dataset
from ..data.imagenet import NUM_CLASSES, SUBSETS, ClassList
from ..errors import UserError
from ..records.adversarial import AdversarialStore
from .class_subsets import count_images
from .progress import Report

ALL_CLASSES: ClassList = "imagenet-1k"


class Subject(NamedTuple):
    """What is evaluated: a model under a label, on a data set.

    Attributes:
        label: name in tables.
        classifier: the model, on its device.
        data: the images.
        seed: base seed.
        report: told of finished work.
        precision: number format of the attacks' passes.
        store: keeps adversarial images; None keeps none.
        batch_size: images that are computed together, at most.
    """

    label: str
    classifier: Classifier
    data: Dataset
    seed: int
    report: Report
    precision: torch.dtype = torch.float32
    store: AdversarialStore | None = None
    batch_size: int = 32


class Task(NamedTuple):
    """One data set and its conditions, in order."""

    data: Dataset
    conditions: tuple[Condition, ...]


def make_task(data: Dataset, conditions: Sequence[Condition]) -> Task:
    """A task under the data set's own names.

    The images of a test set of their own are not called clean: ``clean`` becomes ``imagenet-a``,
    and beside it stands ``imagenet-a/1000-way``, the same forward pass over all classes. The
    convention of labels of its own is the data set's: other sets have the same conditions.

    Raises:
        UserError: no condition.
    """
    if not conditions:
        raise UserError("no condition is given; name at least one, like clean")
    return Task(data, tuple(each for one in conditions for each in _own(data, one)))


def _own(data: Dataset, condition: Condition) -> Iterator[Condition]:
    if condition.id != CLEAN:
        yield condition
        return
    yield replace(condition, id=data.clean_id)
    if data.space is not None and not data.space.others_count:
        over_all = (*condition.flags, f"{NUM_CLASSES}-way")
        yield _second_look(condition, f"{data.clean_id}/1000-way", ALL_CLASSES, over_all)


def _second_look(clean: Condition, name: str, over: ClassList, flags: tuple[str, ...]) -> Condition:
    return replace(clean, id=name, attack=READOUT, over=over, flags=flags, passes=(0, 0))


def with_clean_subsets(tasks: Sequence[Task]) -> list[Task]:
    """Clean accuracy on ImageNet-A's and -R's own classes, where these and clean images are there.

    ``clean/imagenet-a-classes`` stands right after ``clean``: the clean images of those 200 classes
    over those 200 logits, read from the same forward pass.
    """
    subsets = [name for name in SUBSETS if any(_is_over(task.data, name) for task in tasks)]
    done = [_with_subsets(task, subsets) for task in tasks]
    there = {each.over for task in done if task.data.clean_id == CLEAN for each in task.conditions}
    return [_with_note(task, there) for task in done]


def _is_over(data: Dataset, subset: str) -> bool:
    return data.space is not None and data.space.name == subset


def _with_subsets(task: Task, subsets: Sequence[ClassList]) -> Task:
    data = task.data
    if data.clean_id != CLEAN or data.space is not None or data.num_classes != NUM_CLASSES:
        return task
    first = next((each for each in task.conditions if each.id == CLEAN), None)
    if first is None:
        return task
    looks = [
        _second_look(first, f"{CLEAN}/{name}-classes", name, (*first.flags, "200-way"))
        for name in subsets
    ]
    place = task.conditions.index(first) + 1
    looks = [look for look in looks if count_images(data, look)]
    return Task(data, (*task.conditions[:place], *looks, *task.conditions[place:]))


def _with_note(task: Task, there: Set[ClassList | None]) -> Task:
    """Say where the clean accuracy on the same classes is missing, which papers show beside it."""
    missing = [name for name in SUBSETS if _is_over(task.data, name) and name not in there]
    if not missing:
        return task
    note = (
        "clean accuracy on the same 200 classes is not in this run: it needs clean ImageNet images "
        "(--data imagenet=DIR)"
    )
    return task._replace(data=replace(task.data, notes=(*task.data.notes, note)))
