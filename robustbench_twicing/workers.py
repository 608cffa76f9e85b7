"""Processes that read and corrupt images, each with its own copy of what the work needs."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import Any, Generic, Self, TypeVar

from .errors import UserError

State = TypeVar("State")
Task = TypeVar("Task")
Result = TypeVar("Result")

SLOW_IMPORTS = ["torchvision.transforms.functional", __name__]
"""What every task needs."""

_state: Any = None
"""In a worker: what it was started with."""


class WorkerPool(Generic[State]):
    """Processes that are handed a state once, and then tasks.

    They are not forked from the parent, which may use threads and a GPU, but from a server that
    has done the slow imports once. They end with the parent, however that ends, and leave Ctrl-C
    to it.

    Args:
        workers: how many processes.
        state: sent to each of them at its start.
        imports: modules that the tasks need, for the server to import.
    """

    def __init__(self, workers: int, state: State, *, imports: Iterable[str] = ()) -> None:
        server = get_context("forkserver")
        server.set_forkserver_preload([*SLOW_IMPORTS, *imports])
        try:
            self._pool = ProcessPoolExecutor(
                workers, mp_context=server, initializer=_start, initargs=(state,)
            )
        except OSError as error:
            raise _not_started(error) from error

    def submit(self, work: Callable[[State, Task], Result], task: Task) -> "Future[Result]":
        """Have ``work(state, task)`` done; the function is one of a module.

        Raises:
            UserError: the system starts no processes here.
        """
        try:
            return self._pool.submit(_do, work, task)
        except OSError as error:
            raise _not_started(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def _not_started(error: OSError) -> UserError:
    return UserError(
        f"worker processes cannot be started here ({error.strerror or error}); they need a short "
        "TMPDIR that can be written to, and /dev/shm; --workers 1 goes without them"
    )


def _start(state: object) -> None:
    global _state
    _state = state
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.filterwarnings("ignore", module=r"PIL\.")  # as the command line does
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed can tell nobody, and its workers would wait for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(work: Callable[[Any, Task], Result], task: Task) -> Result:
    return work(_state, task)
