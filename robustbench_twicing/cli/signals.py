"""Exit statuses, and SIGINT and SIGTERM: the part at hand is finished, or given up in time."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ..evaluation.progress import Stop

DONE = 0
MISTAKE = 1
"""The user's mistake or a bad value; one line on standard error says what would be right."""
UNKNOWN = 2
"""An unknown option or command."""
ERROR_ROWS = 3
"""Finished, but with conditions that failed and are not scored, or without a model left out."""
INCOMPLETE = 4
"""Interrupted, or images are missing."""


class StoppedError(Exception):
    """A signal ended the work; the message says how to go on."""


GRACE = 8.0
"""Seconds that the part at hand may still take; schedulers kill after 10 or more."""
LAST = 1.5
"""Seconds after which a process that does not even give up is ended."""
ECHO = 1.0
"""Seconds in which a second signal is the first one again: a terminal or a scheduler sends it to
every process of a job, and torchrun passes on the one that it gets."""

SHOW_CURSOR = "\r\x1b[2K\x1b[?25h"
"""What ends a progress bar: its line is cleared, and the cursor is seen again."""


@contextmanager
def stopping_on_signals(stop: Stop, how_to_go_on: str) -> Iterator[None]:
    """Inside, a first SIGINT or SIGTERM asks ``stop``; a second one, or 8 s, end the work.

    What was written stays: parts are whole or absent. A third one ends the process. A signal that
    was ignored before, as SIGINT in the background jobs of a script, stays ignored.

    Args:
        stop: asked at the first signal.
        how_to_go_on: printed where the process has to be ended.

    Raises:
        KeyboardInterrupt: at the second signal, or when the part at hand takes too long.
    """

    def end() -> None:
        # Not by way of a progress bar: the thread that is stuck may hold it.
        stderr = sys.__stderr__ or sys.stderr
        cursor = SHOW_CURSOR if stderr.isatty() else ""
        with suppress(OSError):  # a terminal that was closed
            stderr.write(f"{cursor}robustbench-twicing: {how_to_go_on}\n")
            stderr.flush()
        os._exit(INCOMPLETE)

    last = threading.Timer(GRACE + LAST, end)
    last.daemon = True
    came: list[float] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if came and now - came[0] < ECHO:
            return
        came.append(now)
        if len(came) > 2:
            end()
        if len(came) == 2:
            raise KeyboardInterrupt
        name = signal.Signals(number).name
        stop.ask(name)
        sys.stderr.write(
            f"{name}: stopping after this part, within {GRACE:.0f} s; again to stop at once\n"
        )
        last.start()
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    def give_up(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    handlers = {signal.SIGINT: on_signal, signal.SIGTERM: on_signal, signal.SIGALRM: give_up}
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        last.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
