"""Two runs that hold the same label or condition: the same thing, or refused."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.printable import count
from robustbench_twicing.records.identity import (
    Difference,
    first_difference,
    images_identity,
    model_identity,
    preprocessing_identity,
    seeded_identity,
)
from robustbench_twicing.records.manifest import Evaluation, Manifest

if TYPE_CHECKING:
    from .entry import Entry
    from .runs import Runs

FACTS = ["image", "status", "target", "clean_rank", "prediction", "rank"]
"""What must be equal for two records to be the same; losses differ in rounding by machine."""


def check_one_label(
    evaluation: Evaluation, manifest: Manifest, path: Path, entries: "Iterable[Entry]"
) -> None:
    """A label is one model, asked alike; and under it a data set's name is one set of images.

    Raises:
        UserError: with the first difference.
    """
    model = _model(evaluation, manifest)
    for entry in entries:
        if entry.evaluation.label != evaluation.label:
            continue
        about = f"label {evaluation.label}"
        difference = first_difference(_model(entry.evaluation, entry.manifest), model)
        if difference is None and entry.evaluation.dataset.name == evaluation.dataset.name:
            about += f" on {evaluation.dataset.name}"
            difference = first_difference(_images(entry.evaluation), _images(evaluation))
        if difference:
            raise UserError(f"{about} is {_two(difference, entry.folders[0], path)}; {ADVICE}")


ADVICE = "evaluate one of them again under another --label, or report them separately"


def check_same(runs: "Runs") -> None:
    """Two runs may both hold a condition of a label, if its content is the same.

    Args:
        runs: conditions of the one run, and then those of the other, in the same order.

    Raises:
        UserError: with the first difference.
    """
    half = len(runs.entries) // 2
    hashed = f"bit_xor(hash(hash({', '.join(FACTS)})))"
    rows = runs.query(f"SELECT entry, count(*), {hashed} FROM records GROUP BY entry")
    content = {entry: facts for entry, *facts in rows.itertuples(index=False)}
    for first, second in zip(range(half), range(half, 2 * half), strict=True):
        earlier, entry = runs.entries[first], runs.entries[second]
        difference = first_difference(entry_identity(earlier), entry_identity(entry))
        if difference:
            words = _two(difference, earlier.folders[0], entry.folders[0])
            raise UserError(f"{entry.key[0]} {entry.key[-1]} is {words}; {ADVICE}")
        if content.get(first) != content.get(second):
            _refuse_other_facts(runs, first, second)


def _refuse_other_facts(runs: "Runs", first: int, second: int) -> None:
    entry, paths = runs.entries[first], [runs.entries[of].folders[0] for of in (first, second)]
    name = f"{entry.key[0]} {entry.key[-1]}"
    before, now = _facts(runs, first), _facts(runs, second)
    if len(before) != len(now):
        raise UserError(
            f"{name} has {count(len(before), 'image')} in {paths[0]} and {len(now):,} in "
            f"{paths[1]}; {ADVICE}"
        )
    different = sum(a != b for a, b in zip(before, now, strict=True))
    if different:
        raise UserError(
            f"{name} differs between {paths[0]} and {paths[1]} at {different} of {len(before)} "
            f"images; {ADVICE}"
        )


def check_counted_once(runs: "Runs", entries: Sequence[int]) -> None:
    """No image is counted twice under one condition.

    Args:
        runs: merged runs.
        entries: those where it might be.

    Raises:
        UserError: naming the first such image.
    """
    if not entries:
        return
    again = runs.query(
        f"""SELECT entry, image FROM records WHERE entry IN ({", ".join(map(str, entries))})
        QUALIFY row_number() OVER (PARTITION BY entry, image ORDER BY "index") > 1
        ORDER BY entry, "index" LIMIT 1"""
    )
    for position, image in again.itertuples(index=False):
        entry = runs.entries[position]
        raise UserError(
            f"{entry.folders[0]}: image {image} is counted twice under {entry.key[-1]} for "
            f"{entry.key[0]}"
        )


def entry_identity(entry: "Entry") -> dict[str, Any]:
    """What is done to the images of an entry, as its run does it."""
    return seeded_identity(entry.condition, entry.manifest)


def _facts(runs: "Runs", entry: int) -> list[tuple[Any, ...]]:
    sql = f"SELECT {', '.join(FACTS)} FROM records WHERE entry = ?"
    columns = runs.arrow(sql, [entry]).to_pydict().values()
    return sorted(zip(*columns, strict=True), key=lambda row: str(row[0]))


def _model(evaluation: Evaluation, manifest: Manifest) -> dict[str, Any]:
    """Which model it is, and in how many draws its images are scored."""
    return {**model_identity(evaluation.record), "draws": manifest.draws}


def _images(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "dataset": images_identity(evaluation.dataset),
        "preprocessing": preprocessing_identity(evaluation.preprocessing),
    }


def _two(difference: Difference, first: Path, second: Path) -> str:
    return f"two things: {difference.between(f'in {first}', f'in {second}')}"
