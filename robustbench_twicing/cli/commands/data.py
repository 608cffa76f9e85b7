"""``data``: say how a data set was understood, and what looks wrong, before a run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ...files.printable import count
from ..options.command import add_command
from ..options.evaluation import OF_IMAGES, EvalOptions

if TYPE_CHECKING:
    from collections import Counter

    from ...data.dataset import Dataset
    from ...data.summary import Survey
    from ..terminal import Console

MOST_LINES = 10
"""Longest list printed; the rest is counted."""


@dataclass(frozen=True)
class DataOptions(EvalOptions):
    """Those that say what images are, and how closely they are looked at."""

    limit_seed: Annotated[
        int, typer.Option("--limit-seed", "--seed", help="Seed of the choice of --limit's images.")
    ] = 0
    full: Annotated[bool, typer.Option("--full", help="Decode every image.")] = False


SOURCE = Annotated[
    str,
    typer.Argument(
        help="Folder, .tar or .parquet, 'val-*.tar', NAME=DIR (imagenet-a=DIR), .npz, .npy, "
        "samples:imagenet."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    add_command(
        app,
        "data",
        run,
        help_text="How a data set is understood: labels, sizes, what is left out or looks wrong.",
        options=DataOptions,
        only=(*OF_IMAGES, "full"),
        arguments={"source": SOURCE},
    )


def run(options: DataOptions, source: str) -> None:
    """Print what is known of the images, and what looks wrong."""
    from ...data.suspicions import suspicions
    from ...errors import UserError
    from ..request.data_sets import open_images
    from ..terminal import Console

    dataset = open_images(options, source, needs_labels=False)
    survey = _survey(dataset, options.full)
    if len(survey.bad) == len(dataset):
        raise UserError(
            f"{source}: no image can be read, of {len(dataset):,} in all; {survey.bad[0]}"
        )
    console = Console()
    _facts(console, dataset, survey)
    _sentences(console, "Notes", dataset.notes)
    _sentences(console, "Left out", [f"{item.id}: {item.reason}" for item in dataset.skipped])
    _sentences(console, "Cannot be decoded", [error.finding for error in survey.bad])
    remarks = suspicions(dataset, survey)
    _sentences(console, "Suspicions", [f"{remark.flag}: {remark.sentence}" for remark in remarks])


def _survey(dataset: "Dataset", full: bool) -> "Survey":
    from rich.progress import Progress

    from ...data.summary import survey
    from ..terminal import Console

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("decoding" if full else "reading headers", total=len(dataset))
        return survey(dataset, full=full, advance=lambda: progress.advance(task))


def _facts(console: "Console", dataset: "Dataset", survey: "Survey") -> None:
    from rich.table import Table
    from rich.text import Text

    from ...data.folders.class_folders import UNLABELLED

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = {
        "data set": dataset.name,
        "labels": dataset.labelling,
        "images": _counts(dataset),
        **({} if dataset.labelling == UNLABELLED else {"per class": _per_class(dataset)}),
        "sizes": _sizes(survey),
        "kinds": _common(survey.kinds.most_common()),
        "looked at": "every pixel" if survey.decoded else "headers only; --full decodes everything",
        "fingerprint": dataset.fingerprint,
    }
    if dataset.flags:
        rows["flag" if len(dataset.flags) == 1 else "flags"] = ", ".join(dataset.flags)
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    console.print(table)


def _counts(dataset: "Dataset") -> str:
    from ...data.folders.class_folders import UNLABELLED

    if dataset.labelling == UNLABELLED:
        return str(len(dataset))
    seen = len(_images_by_class(dataset))
    if dataset.space is not None:
        logits = "all 1000" if dataset.space.others_count else f"{dataset.num_classes}"
        classes = f"{seen} of {dataset.num_classes} classes"
        return f"{len(dataset)} in {classes}, scored over {logits} logits"
    if dataset.num_classes is None:
        return f"{len(dataset)} in {count(seen, 'class', 'classes')} (number of classes not known)"
    return f"{len(dataset)} in {seen} of {dataset.num_classes} classes"


def _per_class(dataset: "Dataset") -> str:
    counts = _images_by_class(dataset)
    fewest, most = min(counts.values()), max(counts.values())
    if fewest == most:
        return f"{fewest} each"
    return f"{fewest} ({_classes(dataset, counts, fewest)}) to {most} " + (
        f"({_classes(dataset, counts, most)})"
    )


def _images_by_class(dataset: "Dataset") -> "Counter[int]":
    """An image of several right labels counts for each."""
    from collections import Counter

    return Counter(label for image in range(len(dataset)) for label in dataset.right(image))


def _classes(dataset: "Dataset", counts: dict[int, int], number: int) -> str:
    """The classes with that many images: the first of them, and how many more."""
    from ...files.printable import name_some

    return name_some(
        [_class_name(dataset, label) for label in sorted(counts) if counts[label] == number], 1
    )


def _class_name(dataset: "Dataset", label: int) -> str:
    from ...data.imagenet import NUM_CLASSES, wnids

    if dataset.space is not None:
        return f"{label} {'/'.join(wnids()[logit] for logit in dataset.space.logits[label])}"
    return f"{label} {wnids()[label]}" if dataset.num_classes == NUM_CLASSES else str(label)


def _sizes(survey: "Survey") -> str:
    if not survey.sizes:
        return "unknown"
    sides = [side for size in survey.sizes for side in size]
    common = [(f"{width} x {height}", number) for (width, height), number in _top(survey)]
    every = "" if len(survey.sizes) == 1 else f"{min(sides)} to {max(sides)} pixels a side; "
    return every + _common(common)


def _top(survey: "Survey") -> list[tuple[tuple[int, int], int]]:
    return sorted(survey.sizes.items(), key=lambda item: (-item[1], item[0]))


def _common(counts: list[tuple[str, int]]) -> str:
    most = 3
    rest = f" and {count(len(counts) - most, 'other')}" if len(counts) > most else ""
    return ", ".join(f"{name} ({number})" for name, number in counts[:most]) + rest


def _sentences(console: "Console", title: str, sentences: list[str] | tuple[str, ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ...files.printable import printable

    if not sentences:
        return
    table = Table.grid(padding=(0, 1))
    table.add_column()
    table.add_column(overflow="fold")
    for sentence in sentences[:MOST_LINES]:
        table.add_row("  -", Text(printable(sentence)))
    if len(sentences) > MOST_LINES:
        table.add_row("", f"and {len(sentences) - MOST_LINES} more")
    console.print(Text(f"{title} ({len(sentences)})", style="bold"))
    console.print(table)
