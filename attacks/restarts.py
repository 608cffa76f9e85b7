"""The worst case over several runs of an attack, image by image."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from robustbench_twicing.conditions.attack_batch import AttackBatch


def worst_of(batch: AttackBatch, candidates: Iterable[Tensor]) -> Tensor:
    """Per image, a candidate that fools the model; among equals the one with the highest loss.

    Args:
        batch: model and true labels, which decide what fools.
        candidates: adversarial batches (N, 3, H, W); a single one is returned unscored.
    """
    tried = list(candidates)
    if len(tried) == 1:
        return tried[0]
    badness = torch.stack([_badness(batch, x_adv) for x_adv in tried])
    chosen = badness.argmax(0)
    return torch.stack(tried)[chosen, torch.arange(len(chosen), device=chosen.device)]


def _badness(batch: AttackBatch, x_adv: Tensor) -> Tensor:
    """Cross-entropy of the true label, and far above every loss where the model is fooled."""
    with torch.no_grad():
        logits = batch.model(x_adv).double()
    fooled = logits.argmax(1) != batch.y
    loss = cross_entropy(logits, batch.y, reduction="none")
    return torch.where(fooled, loss + 1e6, loss)
