"""Progress bars on a terminal, plain lines in a log."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ..evaluation.distributed import Team
from ..evaluation.progress import Report, Step, silent
from ..files.printable import printable
from .terminal import Console

LOG_EVERY = 10.0
"""Seconds between two lines of a log."""


@contextmanager
def show_progress(images: int, units: float, *, hidden: bool = False) -> Iterator[Report]:
    """Show the progress of a run on standard error.

    Args:
        images: images to be evaluated, summed over the models.
        units: network passes to be made, in forward-pass equivalents.
        hidden: show nothing.
    """
    if hidden:
        yield silent
        return
    console = Console(stderr=True)
    if console.is_terminal:
        with _bar(console) as bar:
            task = bar.add_task("", total=max(units, 1), images=f"0/{images} images")
            yield _BarReport(bar, task, images, units)
    else:
        yield _LogReport(images, units)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[images]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


class TeamReport:
    """Sums the progress of all processes of a team, and shows it in the one that leads.

    Args:
        team: of more than one process.
        show: of this process.
    """

    def __init__(self, team: Team, show: Report) -> None:
        self.team, self.show = team, show
        self.images, self.units = 0, 0.0
        self.label = self.condition = ""

    def __call__(self, step: Step) -> None:
        """Tell the team of a step of this process."""
        if not step.resumed:
            self.team.add_progress(step.images, step.units)
            self.label, self.condition = step.label, step.condition
            self.update()
        elif self.team.is_main:
            self.show(step)

    def update(self) -> None:
        """Show what the team has done since the last call."""
        if self.team.is_main:
            images, units = self.team.progress()
            done = images - self.images, units - self.units
            self.images, self.units = images, units
            if any(done):
                self.show(Step(self.label, self.condition, *done))


class _BarReport:
    def __init__(self, bar: Progress, task: TaskID, images: int, units: float) -> None:
        self.bar, self.task, self.units = bar, task, units
        self.total, self.images = images, 0
        self.start = time.perf_counter()

    def __call__(self, step: Step) -> None:
        if step.resumed:
            self.total -= step.images
            self.units -= step.units
            self.bar.update(self.task, total=max(self.units, 1.0))
            return
        self.images += step.images
        rate = self.images / (time.perf_counter() - self.start)
        self.bar.update(
            self.task,
            advance=step.units,
            description=f"{step.label} {step.condition}".strip(),
            images=f"{self.images}/{self.total} images, {rate:.2f}/s",
        )


class _LogReport:
    def __init__(self, images: int, units: float) -> None:
        self.total, self.units, self.images, self.done = images, units, 0, 0.0
        self.start = self.last_line = time.perf_counter()

    def __call__(self, step: Step) -> None:
        if step.resumed:
            self.total -= step.images
            self.units -= step.units
            return
        self.images += step.images
        self.done += step.units
        now = time.perf_counter()
        finished = self.images == self.total and step.images
        if now - self.last_line < LOG_EVERY and not finished:
            return
        self.last_line = now
        elapsed = now - self.start
        if finished:  # images that could not be read took none of their share
            self.done = self.units
        left = elapsed * (self.units - self.done) / self.done if self.done else float("inf")
        sys.stderr.write(
            f"{printable(f'{step.label} {step.condition}'.strip())}: "
            f"{100 * self.done / self.units:.0f} %, "
            f"{self.images}/{self.total} images, {self.images / elapsed:.2f}/s, "
            f"{duration(elapsed)} so far, {duration(left)} left\n"
        )


def duration(seconds: float) -> str:
    """Seconds as ``1:02:03`` or ``2:03``; a question mark where unknown."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
