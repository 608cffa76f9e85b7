"""Names of ImageNet's classes, where predictions are indices into them."""

from collections.abc import Sequence
from functools import cache

from robustbench_twicing.data.imagenet import NUM_CLASSES, SUBSETS, subset_indices
from robustbench_twicing.records.manifest import Evaluation

MARKS = ("wnid", "imagenet")
"""Words in the description of the labels that tell ImageNet's classes from other thousands."""


def class_name(index: int, evaluation: Evaluation) -> str:
    """``tabby (281)`` for classes of ImageNet-1k, ``class 3`` otherwise.

    Args:
        index: as in the records: a position among the logits that are scored.
        evaluation: tells which classes the logits are.
    """
    space = evaluation.dataset.space
    chosen: Sequence[int] | None = evaluation.record.details.get("classes")
    if space is not None and space.name in SUBSETS:
        chosen = subset_indices(space.name)
    if chosen and not 0 <= index < len(chosen):
        return f"class {index}"
    if chosen:
        index = int(chosen[index])
    labelling = evaluation.dataset.labelling.lower()
    of_imagenet = any(mark in labelling for mark in MARKS)
    known = chosen is not None or evaluation.dataset.num_classes == NUM_CLASSES
    if of_imagenet and known and 0 <= index < NUM_CLASSES:
        return f"{_names()[index]} ({index})"
    return f"class {index}"


@cache
def _names() -> tuple[str, ...]:
    """The first name of each class, as in timm's copy of WordNet's."""
    from timm.data.imagenet_info import ImageNetInfo

    info = ImageNetInfo()
    described = (info.index_to_description(index) for index in range(NUM_CLASSES))
    return tuple(text.partition(",")[0] for text in described)
