"""The terminal: a console that nothing steers, and standard streams that may be closed or full."""

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO, cast

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..files.printable import printable, printable_lines

LOG_EVERY = 10.0
"""Seconds between two lines of a log."""
PATIENCE = 2.0
"""Seconds after which something is said of what is waited for."""
BAR = 16
"""Cells of a bar."""


class Console(RichConsole):
    """A console that prints what cannot be printed as escapes, and every name as it is."""

    def __init__(self, *, terse: bool = False, **options: Any) -> None:
        super().__init__(**{"emoji": False, **options})  # else model.py:two: becomes a picture
        self.terse = terse

    def say(self, *sentences: str) -> None:
        """Print what explains a table or says where files are, unless the console is terse."""
        for sentence in [] if self.terse else sentences:
            self._print_line(sentence)

    def warn(self, sentences: Iterable[str]) -> None:
        """Print what a reader must know."""
        for sentence in sentences:
            self._print_line(f"warning: {sentence}")

    def _print_line(self, line: str) -> None:
        """On a line of its own, however long it is, with nothing in it markup."""
        self.print(printable(line), soft_wrap=True, highlight=False, markup=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments of a renderable, whose text is safe."""
        for segment in super().render(renderable, options):
            yield (
                segment if segment.control else segment._replace(text=printable_lines(segment.text))
            )


def print_records(rows: Iterable[Mapping[Any, Any]]) -> None:
    """Print an array of JSON objects on standard output, one a line, in ASCII.

    Raises:
        ValueError: a number that is not finite, which JSON has not.
    """
    lines = ",\n".join(json.dumps(row, allow_nan=False) for row in rows)
    sys.stdout.write(f"[\n{lines}\n]\n" if lines else "[]\n")


def prepare_streams() -> None:
    """For the start of the process: none of the three streams is closed, and none ends the work.

    The first files that are opened get the numbers of streams that are closed, and what a library
    says there would be written into them. And a run goes on when nobody reads of its progress any
    more, as after its terminal was closed or where the disk with the log is full.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or io.StringIO()
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = cast(TextIO, _Unheard(sys.stderr or io.StringIO()))


class _Unheard:
    """A stream that is not told when what is written to it gets nowhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def is_broken(stream: TextIO) -> bool:
    """Whether a stream takes nothing any more; if so, nothing is written to it from now on."""
    try:
        stream.write("\n")
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # what is still held back, which Python writes at its end
        os.close(nowhere)
        return True
    return False


@contextmanager
def patiently(words: str, *, hidden: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Say on standard error what is waited for, once that takes longer than `PATIENCE`.

    Nothing is to be written inside.

    Args:
        words: what is done.
        hidden: show nothing.

    Yields:
        A function that is told how many of how many steps are done.
    """
    waiting = _Waiting(words)
    timer = threading.Timer(PATIENCE, waiting.show)
    timer.daemon = True
    if not hidden:
        timer.start()
    try:
        yield waiting.advance
    finally:
        timer.cancel()
        waiting.end()


class _Waiting:
    """A line that changes on a terminal, lines in a log."""

    def __init__(self, words: str) -> None:
        self.words, self.done, self.total = words, 0, 0
        self.console = Console(stderr=True)
        self.live: Live | None = None
        self.lock, self.ended = threading.Lock(), False
        self.last_line = float("inf")  # nothing is shown yet

    def advance(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        if time.perf_counter() - self.last_line > LOG_EVERY:
            self._write()

    def show(self) -> None:
        with self.lock:
            if self.ended:
                return
            if self.console.is_terminal:
                self.live = Live(self, console=self.console, transient=True, refresh_per_second=4)
                self.live.start()
            else:
                self._write()

    def end(self) -> None:
        with self.lock:
            self.ended = True
            if self.live is not None:
                self.live.stop()

    def __str__(self) -> str:
        return printable(f"{self.words}, {self.done} of {self.total}" if self.total else self.words)

    def __rich__(self) -> RenderableType:
        grid = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self.total or None, completed=self.done, width=BAR)
        grid.add_row(bar, Text(str(self)))
        return grid

    def _write(self) -> None:
        self.last_line = time.perf_counter()
        sys.stderr.write(f"{self}\n")
