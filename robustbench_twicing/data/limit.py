"""A smaller data set: seeded, spread over the classes, whatever the order of the files."""

from collections import defaultdict

from ..errors import UserError
from ..seeds import derive_seed
from .dataset import Dataset


def limit_dataset(dataset: Dataset, size: int, *, seed: int = 0) -> Dataset:
    """Keep ``size`` images, taken class by class in turn.

    Classes are visited in a seeded order, round after round; within a class images come in a
    seeded order of their ids. So a smaller limit is part of a larger one, and neither the order
    of the files nor other images decide whether an image comes before its neighbour.

    Args:
        dataset: what to choose from.
        size: how many images to keep, at least 1; all, unflagged, where there are no more.
        seed: of the choice.

    Returns:
        The images in the order of ``dataset``, flagged ``limit-SIZE-of-ALL``.

    Raises:
        UserError: ``size`` is less than 1.
    """
    if size < 1:
        raise UserError(f"--limit {size} leaves no image to evaluate; it must be 1 or more")
    if size >= len(dataset):
        return dataset
    by_class: dict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(dataset.labels):
        by_class[label].append(index)
    ranked: list[tuple[int, int, int]] = []
    for label, members in by_class.items():
        turn = derive_seed(seed, "limit", "class", label)
        members.sort(key=lambda index: derive_seed(seed, "limit", "image", dataset.ids[index]))
        ranked.extend((round_, turn, index) for round_, index in enumerate(members))
    kept = sorted(index for _, _, index in sorted(ranked)[:size])
    classes = len({dataset.labels[index] for index in kept})
    note = (
        f"{size} of {len(dataset)} images were used, spread over {classes} "
        f"of {len(by_class)} classes (seed {seed})"
    )
    return dataset.select(kept, flag=f"limit-{size}-of-{len(dataset)}", note=note)
