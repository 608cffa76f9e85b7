"""The worst case over several runs of an attack, image by image."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from robustbench_twicing.conditions.attack_batch import AttackBatch


def worst_of(
    batch: AttackBatch, candidates: Iterable[Tensor], goal: Tensor | None = None
) -> Tensor:
    """Per image, a candidate that fools the model; among equals the one with the highest loss.

    Args:
        batch: model and true labels, which decide what fools.
        candidates: adversarial batches (N, 3, H, W); a single one is returned unscored.
        goal: classes (N,) that the images are to be taken for: then one that is, and among equals
            the one with the lowest loss of that class.
    """
    tried = list(candidates)
    if len(tried) == 1:
        return tried[0]
    chosen = which_is_worst(batch, tried, goal)
    return torch.stack(tried)[chosen, torch.arange(len(chosen), device=chosen.device)]


def which_is_worst(
    batch: AttackBatch, tried: Sequence[Tensor], goal: Tensor | None = None
) -> Tensor:
    """The position (N,) of each image's choice, as in `worst_of`; a single one is not scored."""
    if len(tried) == 1:
        return torch.zeros_like(batch.y)
    return torch.stack([_badness(batch, x_adv, goal) for x_adv in tried]).argmax(0)


def _badness(batch: AttackBatch, x_adv: Tensor, goal: Tensor | None) -> Tensor:
    """Loss of the true label, or minus that of the goal; far above every loss at success."""
    with torch.no_grad():
        logits = batch.model(x_adv).double()
    answers = logits.argmax(1)
    if goal is None:
        loss, success = cross_entropy(logits, batch.y, reduction="none"), answers != batch.y
    else:
        loss, success = -cross_entropy(logits, goal, reduction="none"), answers == goal
    return torch.where(success, loss + 1e6, loss)
