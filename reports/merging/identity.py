"""Two runs that hold the same label or condition: the same thing, or refused."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.identity import (
    Difference,
    first_difference,
    images_identity,
    model_identity,
    preprocessing_identity,
    seeded_identity,
)
from robustbench_twicing.records.manifest import Evaluation

if TYPE_CHECKING:
    from .runs import Entry

FACTS = ["image", "status", "target", "clean_rank", "prediction", "rank"]
"""What must be equal for two records to be the same; losses differ in rounding by machine."""


def check_one_label(evaluation: Evaluation, path: Path, entries: "Iterable[Entry]") -> None:
    """A label is one model, and under a label a data set's name is one set of images.

    Raises:
        UserError: with the first difference.
    """
    model = model_identity(evaluation.record)
    for entry in entries:
        if entry.evaluation.label != evaluation.label:
            continue
        about = f"label {evaluation.label}"
        difference = first_difference(model_identity(entry.evaluation.record), model)
        if difference is None and entry.evaluation.dataset.name == evaluation.dataset.name:
            about += f" on {evaluation.dataset.name}"
            difference = first_difference(_images(entry.evaluation), _images(evaluation))
        if difference:
            raise UserError(f"{about} is {_two(difference, entry.folders[0], path)}; {ADVICE}")


ADVICE = "evaluate one of them again under another --label, or report them separately"


def check_same(earlier: "Entry", entry: "Entry", before: pa.Table, now: pa.Table) -> None:
    """Two runs may both hold a condition of a label, if its content is the same.

    Raises:
        UserError: with the first difference.
    """
    label, _, _, condition = entry.key
    paths = earlier.folders[0], entry.folders[0]
    difference = first_difference(entry_identity(earlier), entry_identity(entry))
    if difference:
        raise UserError(f"{label} {condition} is {_two(difference, *paths)}; {ADVICE}")
    facts_before, facts_now = (_facts(table) for table in (before, now))
    if len(facts_before) != len(facts_now):
        raise UserError(
            f"{label} {condition} has {len(facts_before)} images in {paths[0]} and "
            f"{len(facts_now)} in {paths[1]}; {ADVICE}"
        )
    different = sum(a != b for a, b in zip(facts_before, facts_now, strict=True))
    if different:
        raise UserError(
            f"{label} {condition} differs between {paths[0]} and {paths[1]} at {different} of "
            f"{len(facts_before)} images; {ADVICE}"
        )


def entry_identity(entry: "Entry") -> dict[str, Any]:
    """What is done to the images of an entry, as its run does it."""
    return seeded_identity(entry.condition, entry.manifest)


def _facts(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = table.select(FACTS).to_pydict().values()
    return sorted(zip(*columns, strict=True), key=lambda row: str(row[0]))


def _images(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "dataset": images_identity(evaluation.dataset),
        "preprocessing": preprocessing_identity(evaluation.preprocessing),
    }


def _two(difference: Difference, first: Path, second: Path) -> str:
    return (
        f"two things: {difference.path} is {difference.old} in {first} and {difference.new} in "
        f"{second}"
    )
