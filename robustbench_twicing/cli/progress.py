"""Progress in passes: two lines that change on a terminal, plain lines in a log."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..evaluation.distributed import Team
from ..evaluation.progress import Report, Step, silent
from ..files.printable import printable
from .terminal import BAR, LOG_EVERY, Console

if TYPE_CHECKING:
    from ..conditions.condition import Condition


@contextmanager
def show_progress(
    images: int,
    units: float,
    *,
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    hidden: bool = False,
) -> Iterator[Report]:
    """Show the progress of a run on standard error.

    Args:
        images: images to be evaluated, summed over the models.
        units: network passes to be made, in forward-pass equivalents.
        models: labels of all, to say which of them is evaluated.
        conditions: keys of all (`Condition.key`), to say which of them was finished.
        hidden: show nothing.
    """
    if hidden:
        yield silent
        return
    console = Console(stderr=True)
    stage = Stage(images, units, models, conditions)
    if console.is_terminal:
        with Live(stage, console=console, transient=True, refresh_per_second=4):
            yield stage.add
    else:
        yield _LogReport(stage)


class TeamReport:
    """Sums the progress of all processes of a team, and shows it in the one that leads.

    Args:
        team: of more than one process.
        show: of this process.
    """

    def __init__(self, team: Team, show: Report) -> None:
        self.team, self.show = team, show
        self.last = Step("", "", 0, 0.0)
        self.images, self.units = 0, 0.0

    def __call__(self, step: Step) -> None:
        """Tell the team of a step of this process."""
        if not step.resumed:
            self.team.add_progress(step.images, step.units)
            self.last = step
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
                self.show(self.last._replace(images=done[0], units=done[1]))


class Stage:
    """How far a run is; rich shows it as two lines, none of which is cut.

    Args:
        images: to be evaluated.
        units: network passes to be made.
        models: labels of all.
        conditions: keys of all.

    Attributes:
        finished: whether all images are evaluated.
    """

    def __init__(
        self, images: int, units: float, models: Sequence[str], conditions: Sequence[str]
    ) -> None:
        self.images, self.units, self.done = images, units, 0.0
        self.models, self.conditions = list(models), list(dict.fromkeys(conditions))
        self.last = Step("", "", 0, 0.0)
        self.start = self.counted = time.perf_counter()

    def add(self, step: Step) -> None:
        """Count a step; one that was found done is no work of this run, and makes it shorter."""
        self.images -= step.images
        if step.resumed:
            self.units -= step.units
            return
        self.done += step.units
        self.last, self.counted = step, time.perf_counter()
        if self.finished:  # images that could not be read took none of their share
            self.done = self.units

    @property
    def finished(self) -> bool:
        """Whether the step was the last one."""
        return self.images <= 0

    @property
    def left(self) -> str:
        """Time left at the speed until the last step; between two steps it runs down."""
        if not self.done:
            return "? left"
        rest = (self.counted - self.start) * (self.units - self.done) / self.done
        return f"{duration(rest - (time.perf_counter() - self.counted))} left"

    @property
    def passes(self) -> str:
        """Share and number of the passes that are made, and how many a second."""
        rate = self.done / max(self.counted - self.start, 1e-9)
        share = 100 * self.done / self.units if self.units else 100
        per_second = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        return f"{share:.0f} %, {self.done:,.0f} of {self.units:,.0f} passes, {per_second}/s"

    @property
    def place(self) -> str:
        """Which model and condition the last step was of."""
        model = _numbered("model", self.last.label, self.models, self.last.label)
        condition = _numbered(
            "condition", self.last.condition, self.conditions, self.last.key or self.last.condition
        )
        return ", ".join(filter(None, (model, condition)))

    def __rich__(self) -> RenderableType:
        """A bar between the time left and the passes, and the place below."""
        grid = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(self.units, 1.0), completed=self.done, width=BAR)
        grid.add_row(self.left, bar, self.passes)
        return Group(grid, Text(printable(self.place)))


def _numbered(kind: str, name: str, names: Sequence[str], key: str) -> str:
    """``model 2 of 8: fmnist_fan``; the name alone where its place is not known."""
    if not name or key not in names or len(names) == 1:
        return name
    return f"{kind} {names.index(key) + 1} of {len(names)}: {name}"


class _LogReport:
    def __init__(self, stage: Stage) -> None:
        self.stage, self.last_line = stage, stage.start

    def __call__(self, step: Step) -> None:
        stage = self.stage
        stage.add(step)
        now = time.perf_counter()
        finished = stage.finished and step.images > 0
        if step.resumed or (now - self.last_line < LOG_EVERY and not finished):
            return
        self.last_line = now
        time_left = f"done in {duration(now - stage.start)}" if finished else stage.left
        place = printable(stage.place)
        sys.stderr.write(", ".join(filter(None, (time_left, stage.passes, place))) + "\n")


def computed(conditions: "Iterable[Condition]") -> list[str]:
    """Keys of the conditions that take passes of their own, as `show_progress` takes them."""
    return [condition.key for condition in conditions if condition.class_subset is None]


def duration(seconds: float) -> str:
    """Seconds as ``1:02:03`` or ``2:03``; a question mark where unknown."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
