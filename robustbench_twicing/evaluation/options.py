"""How a run is computed, whatever it computes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, get_args

from ..classifiers.precision import Precision
from ..errors import UserError
from ..records.schema import MOST_DRAWS
from ..registry import unknown


@dataclass(frozen=True)
class Shard:
    """One process among those that work on a run together.

    Parts go round, so that neighbouring images, and with them slow ones, are spread evenly.

    Attributes:
        index: of the shard, from 1.
        count: how many shards there are; they know nothing of each other.
        rank: of the process in its team, from 0.
        team_size: processes that work on the shard together, under torchrun.

    Raises:
        UserError: not 1 <= index <= count.
    """

    index: int = 1
    count: int = 1
    rank: int = 0
    team_size: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count:
            raise UserError(f"--shard {self.index}/{self.count} is not I/N with 1 <= I <= N")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``I/N``.

        Raises:
            UserError: not I/N with 1 <= I <= N.
        """
        if not re.fullmatch("[0-9]{1,9}/[0-9]{1,9}", text):
            raise UserError(f"--shard {text!r} is not I/N, like 1/4")
        return cls(*map(int, text.split("/")))

    def parts(self, parts: Iterable[int]) -> list[int]:
        """The parts of the shard: first this process's, then those of the others of its team.

        Whoever is done early takes over from the others, from the end of their list.
        """
        first, *others = self._by_rank(parts)
        return first + [part for of_other in others for part in reversed(of_other)]

    def first_parts(self, parts: Iterable[int]) -> list[int]:
        """The parts that nobody else of the team begins with."""
        return self._by_rank(parts)[0]

    def _by_rank(self, parts: Iterable[int]) -> list[list[int]]:
        """Of each process of the team, beginning with this one."""
        ranks: list[list[int]] = [[] for _ in range(self.team_size)]
        for part in parts:
            if part % self.count == self.index - 1:
                ranks[part // self.count % self.team_size].append(part)
        return ranks[self.rank :] + ranks[: self.rank]


def parse_batch_size(text: str) -> int | None:
    """A number of images; None for ``auto``.

    Raises:
        UserError: neither.
    """
    if text == "auto":
        return None
    if not re.fullmatch("0*[1-9][0-9]{0,8}", text):
        raise UserError(f"--batch-size {text!r} is not a positive number of images, nor auto")
    return int(text)


WHOLE = Shard()
"""All parts, in order."""
PART_OF_AUTO = 512
"""Images of a part where the batch size is what the machine has room for: parts do not depend on
it."""


@dataclass(frozen=True)
class Options:
    """How a run is computed.

    Attributes:
        seed: base seed of every random stream.
        batch_size: images that are computed together, at most; None: as many as are fast.
        part_size: images of one part of a new run; 0: as many as a batch, or 512. A run that is
            continued keeps its own.
        on_bad_image: ``stop`` at an image that cannot be decoded, or ``skip`` and list it.
        device: ``auto``, ``cpu`` or ``cuda``.
        shard: the parts that this process works on.
        attack_precision: while an attack runs, see `Precision`; scores are always computed in fp32.
        score_8bit: which adversarial images of a new run are scored rounded to 8 bits, too: a
            ``sample`` or ``all``. None: a sample; a run that is continued keeps its own.
        save_adversarial: keep the adversarial images of the first N images.
        workers: processes that read and corrupt images; with 1, a thread of this process does.
        survivors: attack only images that no attack before has fooled, the cheapest attack first.
        draws: of a network that draws random numbers, in each of which every image is scored.
    """

    seed: int = 0
    batch_size: int | None = 32
    part_size: int = 0
    on_bad_image: str = "stop"
    device: str = "auto"
    shard: Shard = WHOLE
    attack_precision: Precision = "fp32"
    score_8bit: str | None = None
    save_adversarial: int = 0
    workers: int = 1
    survivors: bool = False
    draws: int = 1

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise UserError(f"--batch-size {self.batch_size} is not a positive number of images")
        if self.part_size < 0:
            raise UserError(f"--part-size {self.part_size} is not a positive number of images")
        if self.on_bad_image not in ("stop", "skip"):
            raise unknown("--on-bad-image", self.on_bad_image, ("stop", "skip"))
        if self.attack_precision not in get_args(Precision):
            raise unknown("--attack-precision", self.attack_precision, get_args(Precision))
        if self.score_8bit not in (None, "sample", "all"):
            raise unknown("--score-8bit", self.score_8bit, ("sample", "all"))
        if self.save_adversarial < 0:
            raise UserError(f"--save-adversarial {self.save_adversarial} is less than 0")
        if self.workers < 1:
            raise UserError(f"--workers {self.workers} is not a positive number of processes")
        self._check_draws()

    def _check_draws(self) -> None:
        if not 1 <= self.draws <= MOST_DRAWS:
            raise UserError(f"--draws {self.draws} is not a number of draws from 1 to {MOST_DRAWS}")
        if self.draws > 1 and self.survivors:
            raise UserError(
                f"--draws {self.draws} is for networks that draw random numbers, and --survivors "
                "refuses these; leave one of them out"
            )
