"""Which parts of a run a process works on, and in which order."""

from collections.abc import Iterable
from typing import NamedTuple, Self

from .errors import UserError


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
