"""Processes that read and corrupt images, each with its own copy of what the work needs."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Self, TypeVar

from ..errors import UserError

State = TypeVar("State")
Task = TypeVar("Task")
Result = TypeVar("Result")

SLOW_IMPORTS = ["torchvision.transforms.functional", __name__]
"""What every task needs."""

LEFT_TO_PARENT = {signal.SIGINT, signal.SIGTERM}
"""Signals that a terminal or a scheduler sends to every process of a job."""

_state: Any = None
"""In a worker: what it was started with."""


class WorkerPool(Generic[State]):
    """Processes that are handed a state once, and then tasks.

    They are not forked from the parent, which may use threads and a GPU, but from a server that
    has done the slow imports once. They end with the parent, however that ends, and leave SIGINT
    and SIGTERM to it. Where an interruption ends the context, tasks at hand are given up.

    Args:
        workers: how many processes.
        state: sent to each of them at its start.
        imports: modules that the tasks need, for the server to import.

    Raises:
        UserError: the system starts no processes here; on leaving, that one of them died.
    """

    def __init__(self, workers: int, state: State, *, imports: Iterable[str] = ()) -> None:
        server = get_context("forkserver")
        server.set_forkserver_preload([*SLOW_IMPORTS, *imports])
        try:
            open_until_end, self._open = server.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(
                workers, mp_context=server, initializer=_start, initargs=(state, open_until_end)
            )
        except OSError as error:
            raise _not_started(error) from error

    def submit(self, work: Callable[[State, Task], Result], task: Task) -> "Future[Result]":
        """Have ``work(state, task)`` done; the function is one of a module.

        Raises:
            UserError: the system starts no processes here.
        """
        try:
            with _held(LEFT_TO_PARENT):  # which the server and the workers inherit
                return self._pool.submit(_do, work, task)
        except OSError as error:
            raise _not_started(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # What a failed task leaves to the others is finished: they may be writing files.
        if isinstance(error, BrokenProcessPool) or not isinstance(error, Exception | None):
            self._open.close()
        with _held({signal.SIGINT}):  # one that waits for its state would miss the parent loudly
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._open.close()
        if isinstance(error, BrokenProcessPool):
            raise UserError(
                "a process that makes images died, perhaps for lack of memory; use fewer "
                "--workers; what was finished is kept"
            ) from error


@contextmanager
def _held(signals: set[signal.Signals]) -> Iterator[None]:
    """Signals wait until the end; a process or a thread that is started inside never gets them."""
    if not hasattr(signal, "pthread_sigmask"):  # not a POSIX system
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _not_started(error: OSError) -> UserError:
    return UserError(
        f"worker processes cannot be started here ({error.strerror or error}); they need a short "
        "TMPDIR that can be written to, and /dev/shm; --workers 1 goes without them"
    )


def _start(state: object, open_until_end: Connection) -> None:
    global _state
    _state = state
    for number in LEFT_TO_PARENT:
        signal.signal(number, signal.SIG_IGN)
    warnings.filterwarnings("ignore", module=r"PIL\.")  # as the command line does
    threading.Thread(target=_end_with_parent, args=(open_until_end,), daemon=True).start()


def _end_with_parent(open_until_end: Connection) -> None:
    """End at once with the parent's work, or with a parent that was killed and can tell nobody."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel, open_until_end])
        os._exit(1)


def _do(work: Callable[[Any, Task], Result], task: Task) -> Result:
    return work(_state, task)
