"""A data set and what is done to its images; conditions as they are called on that data set."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

from ..classifiers.classifier import Classifier
from ..classifiers.known_models import ModelFacts
from ..classifiers.network_state import NetworkState
from ..classifiers.precision import Precision
from ..conditions.condition import CLASS_SUBSET, CLEAN, Condition
from ..data.dataset import Dataset
from ..data.imagenet import NUM_CLASSES, SUBSETS, ClassList
from ..errors import UserError
from ..records.adversarial import Pixels
from ..seeds import derive_seed
from .class_subsets import count_images
from .options import Options
from .progress import Report

ALL_CLASSES: ClassList = "imagenet-1k"
ONE_IN, MOST_RESCORED = 8, 256
"""Of a data set's images, how many are scored rounded to 8 bits, unless all are."""


class ImageStore(Protocol):
    """Is given adversarial images once they are checked and scored."""

    @property
    def limit(self) -> int:
        """Of how many images of the data set, counted from its start, it wants them."""
        ...

    def save(
        self,
        place: Sequence[str],
        indices: Sequence[int],
        images: Sequence[str],
        x: Pixels,
        x_adv: Pixels,
    ) -> None:
        """Take the images of a batch; see `AdversarialStore.save`."""
        ...


class Context(NamedTuple):
    """What is evaluated: a model under a label, on a data set.

    Attributes:
        label: name in tables.
        classifier: the model, on its device.
        data: the images.
        seed: base seed.
        report: told of finished work.
        precision: number format of the attacks' passes.
        store: is given the adversarial images; None: nobody is.
        batch_size: images that are computed together, at most.
        rescored: positions of the images that are scored rounded to 8 bits, too.
        state: of the classifier before any attack; None where nothing is attacked.
        survivors: attack only images that no attack before has fooled.
        draws: of the network, in each of which every image is scored.
    """

    label: str
    classifier: Classifier
    data: Dataset
    seed: int
    report: Report
    precision: Precision = "fp32"
    store: ImageStore | None = None
    batch_size: int = 32
    rescored: frozenset[int] = frozenset()
    state: NetworkState | None = None
    survivors: bool = False
    draws: int = 1


def rescored(data: Dataset, seed: int, score_8bit: str) -> frozenset[int]:
    """Positions of the images that are scored once more after rounding to 8 bits.

    The same for all models, attacks and shards: those whose ids the seed ranks first.

    Args:
        data: the images.
        seed: base seed of the run.
        score_8bit: ``all``, or ``sample`` for one in `ONE_IN`, at most `MOST_RESCORED`.
    """
    if score_8bit == "all":
        return frozenset(range(len(data)))
    count = min(-(-len(data) // ONE_IN), MOST_RESCORED)
    ranked = sorted(range(len(data)), key=lambda index: derive_seed(seed, "8bit", data.ids[index]))
    return frozenset(ranked[:count])


class Task(NamedTuple):
    """One data set and its conditions, in order."""

    data: Dataset
    conditions: tuple[Condition, ...]


class RunRequest(NamedTuple):
    """What a run folder is asked for.

    Attributes:
        models: by label; what is known of them does where nothing is left to compute.
        tasks: data sets with unique names, each with its conditions.
        out: run folder, new or to be continued.
        options: how the run is computed.
        left_out: names of data sets that the reader would expect and that are not evaluated.
    """

    models: Mapping[str, Classifier] | Mapping[str, ModelFacts]
    tasks: Sequence[Task]
    out: Path
    options: Options
    left_out: Sequence[str] = ()


def make_task(data: Dataset, conditions: Sequence[Condition], draws: int = 1) -> Task:
    """A task under the data set's own names.

    The images of a test set of their own are not called clean: ``clean`` becomes ``imagenet-a``,
    and beside it stands ``imagenet-a/1000-way``, the same forward pass over all classes. The
    convention of labels of its own is the data set's: other sets have the same conditions.

    Args:
        data: the images.
        conditions: what is done to them.
        draws: of the network, in each of which every image is scored; for estimates of cost.

    Raises:
        UserError: no condition.
    """
    if not conditions:
        raise UserError("no condition is given; name at least one, like clean")
    named = (_as_called_on(data, condition.scored_in(draws)) for condition in conditions)
    return Task(data, tuple(chain.from_iterable(named)))


def _as_called_on(data: Dataset, condition: Condition) -> Iterator[Condition]:
    if condition.id != CLEAN:
        yield condition
        return
    yield replace(condition, id=data.clean_id)
    if data.space is not None and not data.space.others_count:
        over_all = (*condition.flags, f"{NUM_CLASSES}-way")
        yield _over_classes(condition, f"{data.clean_id}/1000-way", ALL_CLASSES, over_all)


def _over_classes(
    clean: Condition, name: str, classes: ClassList, flags: tuple[str, ...]
) -> Condition:
    return replace(
        clean, id=name, attack=CLASS_SUBSET, class_subset=classes, flags=flags, passes=(0, 0)
    )


def with_clean_subsets(tasks: Sequence[Task]) -> list[Task]:
    """Clean accuracy on ImageNet-A's and -R's own classes, where these and clean images are there.

    ``clean/imagenet-a-classes`` stands right after ``clean``: the clean images of those classes
    over the logits of those classes, read from the same forward pass.
    """
    subsets = [name for name in SUBSETS if any(_has_classes(task.data, name) for task in tasks)]
    done = [_with_subsets(task, subsets) for task in tasks]
    on_clean = [task for task in done if task.data.clean_id == CLEAN]
    evaluated = {condition.class_subset for task in on_clean for condition in task.conditions}
    return [_with_note(task, evaluated) for task in done]


def _has_classes(data: Dataset, subset: str) -> bool:
    return data.space is not None and data.space.name == subset


def _with_subsets(task: Task, subsets: Sequence[ClassList]) -> Task:
    data = task.data
    if data.clean_id != CLEAN or data.space is not None or data.num_classes != NUM_CLASSES:
        return task
    clean = next((item for item in task.conditions if item.id == CLEAN), None)
    if clean is None:
        return task
    added = [
        _over_classes(
            clean, f"{CLEAN}/{name}-classes", name, (*clean.flags, f"{len(SUBSETS[name])}-way")
        )
        for name in subsets
    ]
    added = [condition for condition in added if count_images(data, condition)]
    position = task.conditions.index(clean) + 1
    return Task(data, (*task.conditions[:position], *added, *task.conditions[position:]))


def _with_note(task: Task, evaluated: Set[ClassList | None]) -> Task:
    """Say where the clean accuracy on the same classes is missing, which papers show beside it."""
    missing = [name for name in SUBSETS if _has_classes(task.data, name) and name not in evaluated]
    if not missing:
        return task
    note = (
        f"clean accuracy on the same {len(SUBSETS[missing[0]])} classes is not in this run: it "
        "needs clean ImageNet images (--data imagenet=DIR)"
    )
    return task._replace(data=replace(task.data, notes=(*task.data.notes, note)))
