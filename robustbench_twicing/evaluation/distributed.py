"""Processes that torchrun started together: one run folder, one voice."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Thread, main_thread
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from ..errors import UserError

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

log = logging.getLogger(__name__)
Value = TypeVar("Value")
PATIENCE = timedelta(hours=1)
"""How long a process waits for the others to start."""
SILENCE = 120.0
"""Seconds without a heartbeat after which a process counts as dead."""
POLL = 0.5
"""Seconds between two looks at what the others have done, and between heartbeats."""
CONTINUES = "finished parts are kept, and the same command continues the run"
UNIT = 1000
"""Progress is summed in integers: thousandths of a pass."""


class Team:
    """The processes that share a run; the one of rank 0 speaks. Alone: a team of one.

    Work is never handed around: every process finds its parts by itself (see `Shard`), and the
    record of the run is its folder. What goes between processes, through torchrun's key-value
    store, is whether they were asked for the same, how far each is, and that each still lives.

    Args:
        rank: of this process, from 0.
        size: how many there are.
        local_rank: of this process on its machine, for the choice of a GPU.
        store: shared texts and counters; None alone.
        age: seconds since these processes were started first; a restart makes none younger.
    """

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        local_rank: int = 0,
        store: "Store | None" = None,
        *,
        age: float = 0.0,
    ) -> None:
        self.rank, self.size, self.local_rank, self.age = rank, size, local_rank, age
        self._store = store
        self._gathered = 0
        self._heartbeats: dict[int, tuple[int, float]] = {}

    @property
    def is_main(self) -> bool:
        """Whether this process is the one that speaks."""
        return self.rank == 0

    def together(self, work: Callable[[], Value]) -> Value:
        """Do what every process does, and go on only where all of them succeeded.

        Raises:
            UserError: in rank 0, with the message of the first process that failed.
            SystemExit: in the others.
        """
        if self._store is None:
            return work()
        try:
            value = work()
        except UserError as error:
            self._check(self.gather(str(error)))
            raise
        self._check(self.gather(""))
        return value

    def _check(self, problems: list[str]) -> None:
        failed = [rank for rank, problem in enumerate(problems) if problem]
        if failed and not self.is_main:
            raise SystemExit(1)
        if failed:
            who = "" if len(failed) == self.size else f"process {failed[0]} of {self.size}: "
            raise UserError(who + problems[failed[0]])

    def gather(self, text: str) -> list[str]:
        """The text of every process, in order of rank; each calls it as often as the others.

        Raises:
            UserError: one of them has died.
        """
        if self._store is None:
            return [text]
        self._gathered += 1
        keys = {rank: f"gather/{self._gathered}/{rank}" for rank in range(self.size)}
        with _reaching_the_others():
            self._store.set(keys[self.rank], json.dumps(text))
            # Nothing waits inside the store, which serves one call at a time: the heart beats on.
            while missing := [rank for rank in keys if not self._store.check([keys[rank]])]:
                if silent := self._silent(missing):
                    who = f"process {silent[0]} of {self.size}"
                    raise UserError(f"{who} has ended without a word; {CONTINUES}")
                time.sleep(POLL / 5)
            return [json.loads(self._store.get(key)) for key in keys.values()]

    def beat(self) -> None:
        """Tell the others that this process lives, from a thread that ends when the main one does.

        It is no daemon, which Python would end amidst a call of the store, and the process with it.
        """

        def beat_on() -> None:
            with suppress(UserError):
                while main_thread().is_alive():
                    self._add(f"heartbeats/{self.rank}", 1)
                    main_thread().join(POLL)

        Thread(target=beat_on).start()

    def _silent(self, ranks: Sequence[int]) -> list[int]:
        """Those of the others that have not been heard of for too long."""
        now = time.monotonic()
        for rank in ranks:
            count = self._add(f"heartbeats/{rank}", 0)
            if self._heartbeats.get(rank, (-1, now))[0] != count:
                self._heartbeats[rank] = count, now
        return [rank for rank in ranks if now - self._heartbeats[rank][1] > SILENCE]

    def add_progress(self, images: int, units: float) -> None:
        """Tell the team of finished work."""
        self._add("images", images)
        self._add("units", round(units * UNIT))

    def progress(self) -> tuple[int, float]:
        """Images and passes that the whole team has finished since it started."""
        return self._add("images", 0), self._add("units", 0) / UNIT

    def _add(self, name: str, amount: int) -> int:
        """Add to a shared counter, and read it; alone there is none."""
        if self._store is None:
            return 0
        with _reaching_the_others():
            return self._store.add(name, amount)

    def finish(self, *, early: bool, meanwhile: Callable[[], None]) -> bool:
        """Say that this process has no more to do; rank 0 waits for those of the others that live.

        Args:
            early: it stopped before the work was done.
            meanwhile: called by rank 0 while it waits.

        Returns:
            In rank 0: whether every process came to the end of the work. In others: not early.
        """
        if self._store is None:
            return not early
        self._add("early", int(early))
        self._add(f"finished/{self.rank}", 1)
        self._add("finished", 1)
        while self.is_main and self._add("finished", 0) < self.size:
            meanwhile()
            ranks = [rank for rank in range(self.size) if not self._add(f"finished/{rank}", 0)]
            silent = self._silent(ranks)
            if silent and silent == ranks:
                names = ", ".join(map(str, silent))
                log.warning("process %s of %d has ended without a word", names, self.size)
                return False
            time.sleep(POLL)
        return not self._add("early", 0) if self.is_main else not early


@contextmanager
def _reaching_the_others() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise UserError(f"torchrun or the process of rank 0 has ended; {CONTINUES}") from error


def _fresh(store: "Store", rank: int, size: int) -> "Store":
    """A part of the store that no earlier start of these processes has written to.

    torchrun keeps one store over restarts, and what dead processes left there misleads the living.
    So rank 0 makes a new name for the part, and each of the others makes sure that the name it
    read is answered for by a rank 0 that lives.

    Raises:
        RuntimeError: no answer.
    """
    from torch.distributed.distributed_c10d import PrefixStore

    if rank == 0:
        name = uuid4().hex
        store.set("team", name)
        for other_rank in range(1, size):
            question = store.get(f"{name}/{other_rank}").decode()
            store.set(f"{name}/{question}", "")
        return PrefixStore(name, store)
    question, until = uuid4().hex, time.monotonic() + PATIENCE.total_seconds()
    while time.monotonic() < until:
        name = store.get("team").decode()
        store.set(f"{name}/{rank}", question)
        time.sleep(POLL / 5)
        if store.check([f"{name}/{question}"]):
            return PrefixStore(name, store)
    raise RuntimeError("rank 0 does not answer")


def _age(store: "Store") -> float:
    """Seconds since the first of all starts of the team, by the clock on the wall."""
    from torch.distributed.distributed_c10d import PrefixStore

    while isinstance(store, PrefixStore):  # every start has a part of the store of its own
        store = store.underlying_store
    now = time.time()
    return max(0.0, now - float(store.compare_set("robustbench_twicing/began", "", repr(now))))


def join_team() -> Team:
    """The team that torchrun, or a launcher with the same variables, put this process into.

    Raises:
        UserError: the other processes cannot be reached.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or "RANK" not in os.environ:
        return Team()
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # what fails is said here, in one line
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
        local_rank = int(os.environ.get("LOCAL_RANK", rank))
        team = Team(rank, size, local_rank, _fresh(store, rank, size), age=_age(store))
        team.beat()
        return team
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"the other processes of this run cannot be reached: {reason}") from error
