"""plan: what an evaluation would cost, without doing it."""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ..progress import duration
from ..request.command import add_command
from ..request.options import EvalOptions
from ..signals import DONE, ERROR_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

    from ...classifiers.classifier import Classifier
    from ...evaluation.tasks import Task
    from ..terminal import Console

SAMPLE = 4
"""Images of the measured batch."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "plan", run, help_text="Cost of an eval with the same options; no work.")


class Speed(NamedTuple):
    """Seconds per image of a forward pass, and of a backward pass to the input."""

    forward: float
    backward: float


def run(options: EvalOptions) -> int:
    """Print passes and estimated time per model and condition, and how they were estimated.

    Returns:
        Exit status.
    """
    from ...classifiers.device import choose_device
    from ...evaluation.tasks import rescored
    from ...evaluation.validation import check_request, check_survivors
    from ..request.request import make_request
    from ..terminal import Console

    request = make_request(options)
    check_request(request.models, request.tasks)
    if request.options.survivors:
        check_survivors(request.tasks)
    device = choose_device(request.options.device)
    console = Console()
    total = corrupting = 0.0
    unknown: list[str] = []
    for line in request.messages:
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    for label, classifier in request.models.items():
        sample = min(SAMPLE, *(len(task.data) for task in request.tasks))
        speed = measure_speed(classifier, sample, device)
        for task in request.tasks:
            making = measure_making(classifier, task, request.options.seed)
            count = len(rescored(task.data, options.seed, options.score_8bit or "sample"))
            total += _show(console, label, task, speed, unknown, making=making, rescored=count)
            corrupting += len(task.data) * sum(making.values())
        console.print(
            f"Basis: one forward pass {1000 * speed.forward:.1f} ms and one backward pass "
            f"{1000 * speed.backward:.1f} ms per image, measured just now with batches of "
            f"{sample} on {device}, the faster of two."
        )
    most = "at most " if request.options.survivors else ""
    console.print(f"In all {most}about {duration(total)}, decoding of the images not included.")
    for line in _about_run(options, request.tasks):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    if corrupting:
        console.print(
            f"Making the corrupted images takes about {duration(corrupting)} of one process beside "
            "the network's; --workers N divides it. Basis: the first image of each condition."
        )
    if unknown:
        names = ", ".join(dict.fromkeys(unknown))
        console.print(f"Not included, because its passes are not known beforehand: {names}.")
    return ERROR_ROWS if request.models_left_out else DONE


def _about_run(options: EvalOptions, tasks: "Sequence[Task]") -> "Iterator[str]":
    """What makes the run cheaper, and what of one that is there already is computed again."""
    if options.survivors:
        yield (
            "With --survivors that is an upper bound: images that one attack fools are left out by "
            "those that follow, and how many these are is not known beforehand."
        )
    if options.out is not None:
        yield from _tried_again(Path(options.out), tasks)


def _tried_again(out: Path, tasks: "Sequence[Task]") -> "Iterator[str]":
    """The error rows of a run that is there already."""
    from ...files.atomic import is_there
    from ...records.failures import failed_parts
    from ...records.manifest import SETTINGS
    from ...records.run_folder import RunFolder

    if not is_there(out / SETTINGS):
        return
    folder = RunFolder.open(out)
    passes = {condition.key: condition.passes for task in tasks for condition in task.conditions}
    for evaluation in folder.manifest.evaluations:
        rows: Counter[str] = Counter()
        for part in failed_parts(folder, evaluation, range(folder.part_count(evaluation))).values():
            rows.update({key: len(images) for key, images in part.failed.items()})
        for key, count in rows.items():
            known = passes.get(key)
            forward, backward = known or (0, 0)
            cost = f"{count * forward:,} forward, {count * backward:,} backward"
            yield (
                f"{out} has error rows of {evaluation.label} on {evaluation.dataset.name}, {count} "
                f"under {key.partition(':')[2]}; eval computes them again: "
                f"{cost if known else 'passes not known beforehand'}."
            )


def _show(
    console: "Console",
    label: str,
    task: "Task",
    speed: Speed,
    unknown: list[str],
    *,
    making: "Mapping[str, float]",
    rescored: int,
) -> float:
    """Print one table; return its seconds, and add what is not known beforehand to ``unknown``."""
    from rich.markup import escape
    from rich.table import Table

    images = len(task.data)
    title = escape(f"{label} on {task.data.name}, {images} images")
    columns = ["condition", "forward", "backward", "time", *(["its images"] if making else [])]
    table = Table(*columns, title=title)
    total = 0.0
    several = len({condition.protocol for condition in task.conditions}) > 1
    for condition in task.conditions:
        name = f"{condition.id} {condition.protocol}" if several else condition.id
        if condition.passes is None:
            table.add_row(escape(name), "?", "?", "?")
            unknown.append(condition.id)
            continue
        forward, backward = (count * images for count in condition.passes)
        forward += rescored if condition.is_attacked else 0
        seconds = forward * speed.forward + backward * speed.backward
        total += seconds
        row = [name, f"{forward:,}", f"{backward:,}", duration(seconds)]
        if condition.key in making:
            row.append(duration(images * making[condition.key]))
        table.add_row(*map(escape, row))
    console.print(table)
    return total


def measure_making(classifier: "Classifier", task: "Task", seed: int) -> dict[str, float]:
    """Seconds that one image of every condition takes to make, by its key; one that fails has 0."""
    from ...data.image_maker import ImageRequest, Maker

    sourced = {
        condition.key: condition.images
        for condition in task.conditions
        if condition.images is not None
    }
    maker = Maker(task.data, classifier.preprocessing, sourced, seed)
    seconds = {}
    for key in sourced:
        start = time.perf_counter()
        (made,) = maker.make(ImageRequest(key, [0]))
        seconds[key] = 0.0 if isinstance(made, Exception) else time.perf_counter() - start
    return seconds


def measure_speed(classifier: "Classifier", count: int, device: "torch.device") -> Speed:
    """Time one small grey batch forward and backward, the faster of two tries."""
    import torch

    from ...classifiers.gradient import eval_mode, input_gradient

    crop = classifier.preprocessing.crop
    x = torch.full((count, 3, crop, crop), 0.5, device=device)
    y = torch.zeros(count, dtype=torch.long, device=device)
    home = classifier.device
    classifier.to(device)
    forward, both = [], []
    with eval_mode(classifier):
        for _ in range(2):
            start = time.perf_counter()
            with torch.no_grad():
                classifier(x).sum().item()
            forward.append(time.perf_counter() - start)
            start = time.perf_counter()
            input_gradient(classifier, x, y).sum().item()
            both.append(time.perf_counter() - start)
    classifier.to(home)
    return Speed(min(forward) / count, max(min(both) - min(forward), 0.0) / count)
