"""How a run is computed, whatever it computes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch

from ..errors import UserError


class Share(NamedTuple):
    """One process among those that work on a run together.

    Parts go round, so that neighbouring images, and with them slow ones, are spread evenly.

    Attributes:
        number: of the shard, from 1.
        shards: how many there are; shards know nothing of each other.
        rank: of the process in its team, from 0.
        team: processes that work on the shard together, under torchrun.
    """

    number: int = 1
    shards: int = 1
    rank: int = 0
    team: int = 1

    def checked(self) -> Self:
        """Itself.

        Raises:
            UserError: not I/N with 1 <= I <= N.
        """
        if not 1 <= self.number <= self.shards:
            raise UserError(f"--shard {self.number}/{self.shards} is not I/N with 1 <= I <= N")
        return self

    def parts(self, parts: Iterable[int]) -> list[int]:
        """The parts of the shard: first the process's own, then those of the team's others.

        Whoever is done early takes over from the others, from the end of their list.
        """
        own, *others = self._by_rank(parts)
        return own + [part for each in others for part in reversed(each)]

    def own(self, parts: Iterable[int]) -> list[int]:
        """The parts that nobody else of the team begins with."""
        return self._by_rank(parts)[0]

    def _by_rank(self, parts: Iterable[int]) -> list[list[int]]:
        """Of each process of the team, beginning with this one."""
        ranks: list[list[int]] = [[] for _ in range(self.team)]
        for part in parts:
            if part % self.shards == self.number - 1:
                ranks[part // self.shards % self.team].append(part)
        return ranks[self.rank :] + ranks[: self.rank]


WHOLE = Share()
"""All parts, in order."""


PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Options:
    """How a run is computed.

    Attributes:
        seed: base seed of every random stream.
        batch_size: images that are computed together, at most.
        part_size: images of one part of a new run; 0: as many as a batch. A run that is continued
            keeps its own.
        on_bad_image: ``stop`` at an image that cannot be decoded, or ``skip`` and list it.
        device: ``auto``, ``cpu`` or ``cuda``.
        share: the parts that this process works on.
        attack_precision: ``fp32``, or ``bf16`` or ``fp16`` autocast while an attack runs; scores
            are always computed in fp32.
        save_adversarial: keep the adversarial images of the first N images.
        workers: processes that read and corrupt images; with 1, a thread of this process does.
    """

    seed: int = 0
    batch_size: int = 32
    part_size: int = 0
    on_bad_image: str = "stop"
    device: str = "auto"
    share: Share = WHOLE
    attack_precision: str = "fp32"
    save_adversarial: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise UserError(f"--batch-size {self.batch_size} is not a positive number of images")
        if self.part_size < 0:
            raise UserError(f"--part-size {self.part_size} is not a positive number of images")
        if self.on_bad_image not in ("stop", "skip"):
            raise UserError(f"--on-bad-image {self.on_bad_image!r} is unknown; it is stop or skip")
        if self.attack_precision not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            raise UserError(
                f"--attack-precision {self.attack_precision!r} is unknown; it is {known}"
            )
        if self.save_adversarial < 0:
            raise UserError(f"--save-adversarial {self.save_adversarial} is less than 0")
        if self.workers < 1:
            raise UserError(f"--workers {self.workers} is not a positive number of processes")
        self.share.checked()
