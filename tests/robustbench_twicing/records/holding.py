"""Another process that works on a part of a run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from robustbench_twicing.records.locks import Ownership


def _hold(folder: Path, part: int, pipe: Connection) -> None:
    with Ownership(folder) as owner:
        pipe.send(owner.claim(part))
        pipe.recv()


@contextmanager
def held_elsewhere(
    folder: Path, part: int, *, killed: bool = False
) -> Iterator[Callable[[], None]]:
    """A process that has claimed a part, until it is told to go: at the latest at the end.

    Args:
        folder: of the parts.
        part: its number.
        killed: whether the process is, in place of letting go.

    Yields:
        What ends the process; a second call does nothing.
    """
    here, there = get_context("forkserver").Pipe()
    process = get_context("forkserver").Process(target=_hold, args=(folder, part, there))
    process.start()

    def end() -> None:
        if process.is_alive():
            process.kill() if killed else here.send(None)
            process.join()

    try:
        assert here.recv() is True
        yield end
    finally:
        end()
