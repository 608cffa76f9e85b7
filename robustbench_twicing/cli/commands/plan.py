"""plan: what an evaluation would cost, without doing it."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from ...files.printable import count, spoken_size
from ..measuring import SAMPLE, SURVEYED, Speed, measure_making, measure_speed, surviving
from ..options.command import add_command
from ..options.evaluation import COMMON, EvalOptions
from ..progress import duration
from ..signals import DONE, ERROR_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...evaluation.tasks import Task
    from ..terminal import Console

RECORD_BYTES, HASH_BYTES = 20, 16
"""What a record takes on disk, and the hash of an image that only one condition shows."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    help_text = "Cost of an eval with the same options; no work."
    add_command(app, "plan", run, help_text=help_text, common=COMMON)


class Seconds(NamedTuple):
    """What is expected, and what it is at most."""

    expected: float
    most: float


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
    total, most, corrupting = 0.0, 0.0, 0.0
    unknown: list[str] = []
    for line in request.messages:
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    for label, classifier in request.models.items():
        sample = min(SAMPLE, *(len(task.data) for task in request.tasks))
        speed = measure_speed(classifier, sample, device)
        for task in request.tasks:
            making = measure_making(classifier, task, request.options.seed)
            count = len(rescored(task.data, options.seed, options.score_8bit or "sample"))
            left = surviving(classifier, task, device) if options.survivors else {}
            seconds = _show(
                *(console, label, task, speed, unknown),
                making=making,
                rescored=count,
                draws=options.draws,
                left=left,
            )
            total, most = total + seconds.expected, most + seconds.most
            corrupting += len(task.data) * sum(making.values())
        console.print(
            f"Basis: one forward pass {1000 * speed.forward:.3g} ms and one backward pass "
            f"{1000 * speed.backward:.3g} ms per image, measured just now with batches of "
            f"{sample} on {device}, the faster of two."
        )
    bound = f" (at most {duration(most)})" if options.survivors else ""
    console.print(f"In all about {duration(total)}{bound}, decoding of the images not included.")
    crops = [classifier.preprocessing.crop for classifier in request.models.values()]
    for line in (_disk(options, request.tasks, crops), *_about_run(options, request.tasks)):
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


def _disk(options: EvalOptions, tasks: "Sequence[Task]", crops: "Sequence[int]") -> str:
    """What the records take, and the adversarial images that are kept."""
    records = bytes_of_records = bytes_of_images = 0
    for task in tasks:
        of_images = sum(condition.images is not None for condition in task.conditions)
        attacked = sum(condition.is_attacked for condition in task.conditions)
        of_task = len(crops) * len(task.data) * len(task.conditions)
        records += of_task
        bytes_of_records += of_task * RECORD_BYTES
        bytes_of_records += len(crops) * len(task.data) * of_images * HASH_BYTES
        saved_images = attacked * min(options.save_adversarial, len(task.data))
        bytes_of_images += sum(saved_images * 2 * 3 * 4 * crop**2 for crop in crops)
    images = f", adversarial images {spoken_size(bytes_of_images)}" if bytes_of_images else ""
    return f"On disk: {count(records, 'record')}, about {spoken_size(bytes_of_records)}{images}."


def _about_run(options: EvalOptions, tasks: "Sequence[Task]") -> "Iterator[str]":
    """What makes the run cheaper, and what of one that is there already is computed again."""
    if options.survivors:
        yield (
            "With --survivors that is an estimate: to each attack as many images are left as FGSM "
            f"leaves of the first {SURVEYED}; stronger attacks leave fewer."
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
        for key, failed in rows.items():
            known = passes.get(key)
            forward, backward = known or (0, 0)
            cost = f"{failed * forward:,} forward, {failed * backward:,} backward"
            yield (
                f"{out} has error rows of {evaluation.label} on {evaluation.dataset.name}, "
                f"{failed} under {key.partition(':')[2]}; eval computes them again: "
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
    draws: int,
    left: "Mapping[str, float]",
) -> Seconds:
    """Print one table; return its seconds, and add what is not known beforehand to ``unknown``.

    Args:
        console: where to.
        label: of the model.
        task: data set and conditions.
        speed: of the model.
        unknown: conditions whose passes are not known beforehand.
        making: seconds that an image of a condition takes to make.
        rescored: images that are scored in 8 bits, too.
        draws: of the network, in which every image is scored.
        left: shares of the images that are attacked, where these are not all.
    """
    from rich.markup import escape
    from rich.table import Table

    from ...conditions.charges import charges

    images = len(task.data)
    title = f"{label} on {task.data.name}, {count(images, 'image')}"
    columns = ["condition", "forward", "backward", "time", *(["its images"] if making else [])]
    table = Table(*columns)
    total = most = 0.0
    charged = charges(task.conditions, draws)
    several = len({condition.protocol for condition in task.conditions}) > 1
    for condition in task.conditions:
        name = f"{condition.id} {condition.protocol}" if several else condition.id
        passes = charged[condition.key]
        if passes is None:
            table.add_row(escape(name), "?", "?", "?")
            unknown.append(condition.id)
            continue
        in_8_bits = rescored if condition.is_attacked else 0
        whole = passes.forward * images + in_8_bits, passes.backward * images
        share = left.get(condition.key, 1.0)
        forward, backward = (round(share * count) for count in whole)
        seconds = forward * speed.forward + backward * speed.backward
        total += seconds
        most += whole[0] * speed.forward + whole[1] * speed.backward
        row = [name, f"{forward:,}", f"{backward:,}", duration(seconds)]
        if condition.key in making:
            row.append(duration(images * making[condition.key]))
        table.add_row(*map(escape, row))
    # A line of its own: rich folds a table's title to the width of its columns.
    console.print(title, soft_wrap=True, highlight=False, markup=False)
    console.print(table)
    return Seconds(total, most)
