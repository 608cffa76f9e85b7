"""Watch what reading a file does: how it ends, how long, how much memory, whether code ran."""

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.printable import one_line

SECONDS = 10
"""Of computing, for one file."""
WAITING = 90
"""Seconds by the clock; the machine may be busy with other work."""
MIB = 2**20
ROOM = 4096 * MIB
"""Address space beyond what the process has; an allocation beyond it fails at once."""


class TooSlowError(BaseException):
    """The time is up; no `except Exception` may swallow it."""


class Watched(NamedTuple):
    """How reading a file ended.

    Attributes:
        refused: the line of the error, empty where the file was accepted.
        fault: what must not be, empty where all is well.
    """

    refused: str
    fault: str


def watch(action: Callable[[], object], *, names: str, canary: Path, mib: int) -> Watched:
    """Run something that reads a hostile file.

    Args:
        action: reads it.
        names: what an error has to name.
        canary: a file that exists once code from a file has run.
        mib: MiB of memory that it may take.
    """
    refused = fault = ""
    resident = _status("VmRSS", reset=True)
    try:
        with _limited():
            action()
    except UserError as error:
        refused = one_line(str(error))
        fault = _unclear(refused, names)
    except TooSlowError:
        fault = f"hang: more than {SECONDS} s of computing, or {WAITING} s of waiting"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        fault = f"traceback: {_told(error)}"
    taken = (_status("VmHWM") - resident) / MIB
    if taken > mib:
        fault = f"memory: {taken:.0f} MiB, allowed are {mib}; {fault or refused or 'accepted'}"
    if canary.exists():
        canary.unlink()
        fault = f"execution: {fault or refused or 'accepted'}"
    return Watched(refused, fault)


def _unclear(line: str, names: str) -> str:
    return "" if names in line else f"unclear: {names} is not named in: {line}"


def _told(error: BaseException) -> str:
    """Type, message and the places in this package where it came through, the last first."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        places.append(f"{file.parent.name}/{file.name}:{trace.tb_lineno}")
        trace = trace.tb_next
    text = " ".join(str(error).split())
    return f"{type(error).__name__} in {' < '.join(places[:-5:-1])}: {text:.900}"


@contextmanager
def _limited() -> Iterator[None]:
    """Inside, time and address space are bounded."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TooSlowError

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    clocks = {signal.ITIMER_PROF: SECONDS, signal.ITIMER_REAL: WAITING}
    signals = signal.SIGPROF, signal.SIGALRM
    before = [signal.signal(each, stop) for each in signals]
    for clock, seconds in clocks.items():
        signal.setitimer(clock, seconds)
    try:
        if size := _status("VmSize"):
            resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, hard))
        yield
    finally:
        for clock in clocks:
            signal.setitimer(clock, 0)
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _status(name: str, *, reset: bool = False) -> int:
    """Bytes, from Linux's account of this process; 0 elsewhere, where memory is not watched."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    if reset:
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again from here
    found = next((line for line in status.read_text().splitlines() if line.startswith(name)), "")
    return int(found.split()[1]) * 1024 if found else 0
