"""An evaluation from its options: alone, as a shard, or as one of the processes of torchrun."""

import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from ..errors import UserError
from ..files.atomic import is_there
from ..files.printable import count
from .options.evaluation import EvalOptions
from .signals import StoppedError, stopping_on_signals

if TYPE_CHECKING:
    from ..evaluation.distributed import Team
    from ..evaluation.options import Shard
    from ..evaluation.progress import Report, Step, Stop
    from ..evaluation.runner import Run
    from ..evaluation.standing.look import Standing
    from ..records.run_folder import RunFolder
    from .progress import TeamReport
    from .request.request import Asked, Request

HOUR = 3600.0
SHOWS_UP = 60.0
"""Seconds after which a network file system shows at the latest what another machine wrote."""


class EvalStatus(NamedTuple):
    """How far an evaluation came.

    Attributes:
        run: the run folder and its records.
        shard: the parts that were asked for.
        left: images of that shard that are not evaluated, summed over models and data sets.
        unfinished: why there are any, and how to go on; empty where there are none.
        models_left_out: those that could not be evaluated and were to be skipped, with the reasons.
    """

    run: "Run"
    shard: "Shard"
    left: int
    unfinished: str
    models_left_out: tuple[str, ...] = ()


def evaluate(
    options: EvalOptions,
    team: "Team",
    *,
    again: str = "",
    read: "Callable[[EvalOptions], Request] | None" = None,
    quiet: bool = False,
) -> EvalStatus:
    """Load and evaluate with progress.

    Args:
        options: as typed.
        team: the processes that share the work, each with the same options.
        again: how to go on after an interruption; empty: with the run folder.
        read: from options to what is to be done; `make_request` unless given.
        quiet: without progress, and without the name of the run folder.

    Raises:
        UserError: a mistake in the options, or one that the work comes upon.
        StoppedError: a signal ended the work.
    """
    from ..evaluation.progress import OUT_OF_TIME
    from ..evaluation.runner import Run
    from ..records.manifest import SETTINGS
    from .request.request import ask, make_request

    signal.signal(signal.SIGTERM, _interrupt)
    stop = _make_stop(options.max_hours, team.age)
    # As seen before another process of the team can begin it.
    is_new = options.out is None or not is_there(Path(options.out) / SETTINGS)
    standing = None
    if read is None and team.size == 1 and options.out is not None:
        asked = ask(options)
        standing = _look(options, asked, Path(options.out), quiet=quiet)
        if standing is not None and standing.finished:
            return EvalStatus(Run(standing.folder), asked.options.shard, 0, "")
        read = partial(make_request, asked=asked)
    request, out = _prepare(options, team, read)
    shard = request.options.shard
    go_on = again or f"what was finished is kept; the same command with --out {out} continues it"
    try:
        with stopping_on_signals(stop, f"ended; {go_on}"):
            done = _work(request, out, team, stop, quiet=quiet, announced=is_new or bool(standing))
    except KeyboardInterrupt:
        raise StoppedError(f"stopped; {go_on}") from None
    if not (left := images_left(done.folder, shard)):
        return EvalStatus(done, shard, 0, "", request.models_left_out)
    if stop.reason not in ("", OUT_OF_TIME):
        raise StoppedError(f"stopped by {stop.reason}, {count(left, 'image')} left; {go_on}")
    why = stop.reason or "another process works on them, or ended before it had done them"
    unfinished = f"{count(left, 'image')} left ({why}); {go_on}"
    return EvalStatus(done, shard, left, unfinished, request.models_left_out)


def _look(options: EvalOptions, asked: "Asked", out: Path, *, quiet: bool) -> "Standing | None":
    """Say how far a run is that was begun, without its networks; None where these must be built."""
    from ..evaluation.standing.look import look
    from ..evaluation.tasks import RunRequest
    from ..evaluation.validation import fit
    from .request.models import known_models
    from .terminal import patiently

    models = known_models(options)
    if models is None or (options.on_bad_model == "skip" and not fit(models, asked.tasks)):
        return None  # loading says which models are left out
    request = RunRequest(models, asked.tasks, out, asked.options, asked.left_out)
    with patiently(f"looking through the records of {out}", hidden=quiet) as advance:
        standing = look(request, advance)
    if standing is not None and standing.finished:
        _write_lines(asked.messages())  # else they are said with those on models
    if standing is not None and not quiet:
        _write_lines([str(standing)])
    return standing


def _write_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stderr.write(f"{line}\n")


def images_left(folder: "RunFolder", shard: "Shard") -> int:
    """Images of a shard that have not been evaluated, summed over models and data sets."""
    size = folder.manifest.part_size
    return sum(
        min(size, evaluation.dataset.n_images - part * size)
        for evaluation in folder.manifest.evaluations
        for part in shard.parts(folder.missing(evaluation))
    )


def _make_stop(max_hours: float | None, age: float) -> "Stop":
    """Restarts of a team share the time of its first start: its job ends when it ends."""
    from ..evaluation.progress import Stop

    if max_hours is None:
        return Stop()
    if not 0 < max_hours < float("inf"):
        raise UserError(f"--max-hours {max_hours} is not a positive number of hours")
    return Stop(time.monotonic() + max_hours * HOUR - age)


def _prepare(
    options: EvalOptions, team: "Team", read: "Callable[[EvalOptions], Request] | None"
) -> "tuple[Request, Path]":
    """Load everything, in every process of the team; the run folder is the first one's."""
    from .request.request import default_out, make_request

    request = team.together(lambda: (read or make_request)(_on_own_gpu(options, team)))
    if team.is_main:
        _write_lines(request.messages)
    shard = replace(request.options.shard, rank=team.rank, team_size=team.size)
    out = options.out or str(default_out(next(iter(request.models))))
    named = request._replace(options=replace(request.options, shard=shard))
    return named, Path(team.gather(out)[0])


def _on_own_gpu(options: EvalOptions, team: "Team") -> EvalOptions:
    """Each process of a machine takes the GPU of its own number."""
    if team.size == 1 or options.device not in ("auto", "cuda"):
        return options
    import torch

    if not torch.cuda.is_available():
        return options  # what --device cuda means then is said where it is read
    if team.local_rank >= torch.cuda.device_count():
        raise UserError(
            f"process {team.local_rank + 1} of this machine has no GPU of its own: there are "
            f"{torch.cuda.device_count()}; start one process for each"
        )
    return replace(options, device=f"cuda:{team.local_rank}")


def _work(
    request: "Request", out: Path, team: "Team", stop: "Stop", *, quiet: bool, announced: bool
) -> "Run":
    """Evaluate; ``announced``: the user knows how far the run is, or it is new."""
    from ..evaluation.runner import evaluate_models, unheard
    from .progress import TeamReport, computed, show_progress

    is_silent = announced or quiet or not team.is_main
    images, units = _amount(request)
    progress = show_progress(
        images,
        units,
        models=list(request.models),
        conditions=computed([item for task in request.tasks for item in task.conditions]),
        hidden=quiet or not team.is_main,
    )
    with progress as show:
        report = show if team.size == 1 else TeamReport(team, show)
        done = evaluate_models(
            request.models,
            request.tasks,
            out=out,
            options=request.options,
            left_out=request.left_out,
            report=_announce(out, report) if team.is_main and not quiet else report,
            say=unheard if is_silent else lambda line: _write_lines([line]),
            stop=stop,
        )
        if isinstance(report, TeamReport):
            _wait(team, report, stop, partial(images_left, done.folder, request.options.shard))
    return done


def _wait(team: "Team", report: "TeamReport", stop: "Stop", left: Callable[[], int]) -> None:
    """Rank 0 waits until the others are done, and until it sees what they wrote."""
    whole = team.finish(early=bool(stop.reason), meanwhile=report.update)
    report.update()
    until = time.monotonic() + SHOWS_UP
    while team.is_main and whole and left() and time.monotonic() < until:
        time.sleep(1)


def _amount(request: "Request") -> tuple[int, float]:
    from ..evaluation.runner import units

    images = sum(len(task.data) for task in request.tasks)
    passes = sum(len(task.data) * units(task.conditions) for task in request.tasks)
    return len(request.models) * images, len(request.models) * passes


def _announce(out: Path, report: "Report") -> "Report":
    """Name the run folder once work is done in it; a mistake found before that stays one line."""
    announced = False

    def announce(step: "Step") -> None:
        nonlocal announced
        if not (announced or step.resumed):
            sys.stderr.write(f"run folder: {out}\n")
            announced = True
        report(step)

    return announce


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Before there is work to finish, a scheduler's SIGTERM is handled as Ctrl-C."""
    raise KeyboardInterrupt
