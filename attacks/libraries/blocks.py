"""Foreign attacks on fixed blocks of images, each block with a seed of its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.budgets import Norm, format_budget
from robustbench_twicing.conditions.threat_model import ThreatModel
from robustbench_twicing.seeds import derive_seed, seeded_globally

from .lent_model import lent

BLOCK = 32
"""Images per block, unless the constant says otherwise."""
BLOCK_NOTE = (
    "Attacks of other libraries and of your own draw from the global random state, which is seeded "
    "per block of images of a batch: another batch size may give other numbers."
)


class Attack(Protocol):
    """A foreign attack on one block."""

    def __call__(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        *,
        eps: float,
        norm: Norm,
        settings: Mapping[str, Any],
    ) -> Tensor:
        """Adversarial pixels, shaped like x, in the ball of this norm."""


@dataclass(frozen=True)
class BlockSweep:
    """A foreign attack as a sweep.

    Attributes:
        name: part of the seeds.
        attack: the attack on one block.
    """

    name: str
    attack: Attack

    def __call__(
        self,
        batch: AttackBatch,
        budgets: Sequence[Fraction],
        *,
        threat: ThreatModel,
        settings: Mapping[str, Any],
    ) -> Iterator[Tensor]:
        """Each budget on its own; a budget of 0 is the clean image, whatever the attack does."""
        for eps in budgets:
            if eps == 0:
                yield batch.x.clone()
                continue
            constants = {name: value for name, value in settings.items() if name != "block"}
            streams = (self.name, dict(settings), format_budget(eps, threat.norm))
            attack = partial(self.attack, eps=float(eps), norm=threat.norm, settings=constants)
            size, target = settings["block"], batch.target(threat)
            parts = [slice(first, first + size) for first in range(0, len(batch.x), size)]
            yield torch.cat([_block(attack, batch, target, part, streams) for part in parts])


def _block(
    attack: Callable[[nn.Module, Tensor, Tensor], Tensor],
    batch: AttackBatch,
    target: Tensor,
    images: slice,
    streams: Sequence[object],
) -> Tensor:
    seed = derive_seed(batch.seed, list(batch.images[images]), *streams)
    x, y = batch.x[images].clone(), target[images].clone()
    with lent(batch.model), seeded_globally(seed):
        x_adv = attack(batch.model, x, y)
    return x_adv.detach()
