"""What the classes of a data set are called, where that is known."""

from collections.abc import Sequence
from functools import cache

from robustbench_twicing.data import fashion_mnist
from robustbench_twicing.data.imagenet import NUM_CLASSES, SUBSETS, subset_indices
from robustbench_twicing.records.manifest import Evaluation

IMAGENET_WORDS = ("wnid", "imagenet")
"""Words in the description of the labels that tell ImageNet's classes from other thousands."""


def class_name(index: int, evaluation: Evaluation) -> str:
    """``tabby (281)`` for classes of ImageNet-1k and of Fashion-MNIST, ``class 3`` otherwise.

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
    names = _names(evaluation, is_chosen=chosen is not None)
    return f"{names[index]} ({index})" if 0 <= index < len(names) else f"class {index}"


def _names(evaluation: Evaluation, *, is_chosen: bool) -> tuple[str, ...]:
    """Of all classes that the positions may be of; none where these are not known."""
    labelling = evaluation.dataset.labelling
    if labelling == fashion_mnist.LABELLING:
        return fashion_mnist.CLASSES
    of_imagenet = any(mark in labelling.lower() for mark in IMAGENET_WORDS)
    has_all = is_chosen or evaluation.dataset.num_classes == NUM_CLASSES
    return _imagenet() if of_imagenet and has_all else ()


@cache
def _imagenet() -> tuple[str, ...]:
    """The first name of each class, as in timm's copy of WordNet's."""
    from timm.data.imagenet_info import ImageNetInfo

    info = ImageNetInfo()
    described = (info.index_to_description(index) for index in range(NUM_CLASSES))
    return tuple(text.partition(",")[0] for text in described)
