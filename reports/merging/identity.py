"""When two descriptions in manifests are of the same thing, and how they differ."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from robustbench_twicing.conditions.condition import CLEAN, READOUT
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.manifest import Difference, Evaluation, Manifest, first_difference

if TYPE_CHECKING:
    from .runs import Entry

FACTS = ["image", "status", "target", "clean_rank", "prediction", "rank"]
"""What must be equal for two records to be the same; losses differ in rounding by machine."""


def run_identity(manifest: Manifest) -> str:
    """What the shards of one run have in common: all but paths, which differ by machine."""
    values: dict[str, Any] = json.loads(json.dumps(manifest.as_dict()))
    del values["on_bad_image"]
    for evaluation in values["evaluations"]:
        del evaluation["record"]["checkpoint"], evaluation["record"]["notes"]
        del evaluation["dataset"]["notes"]
    return json.dumps(values, sort_keys=True)


def model_identity(evaluation: Evaluation) -> dict[str, Any]:
    """Which model it is: the weights by hash, not by path."""
    names = ("model", "family", "weights", "weights_sha256", "checkpoint_sha256")
    return {name: evaluation.record[name] for name in names}


def data_identity(evaluation: Evaluation) -> dict[str, Any]:
    """Which images they are: all but words, and what is only measured for corruptions."""
    return {
        name: value
        for name, value in _plain(evaluation.dataset).items()
        if name not in ("notes", "flags", "skipped", "labelling", "typical_side")
    }


def condition_identity(entry: "Entry") -> dict[str, Any]:
    """What is done to the images; seed and precision matter where something is."""
    words = ("notes", "flags")
    condition = {name: value for name, value in entry.condition.items() if name not in words}
    if condition["attack"] in (CLEAN, READOUT):
        return _plain(condition)
    manifest = entry.manifest
    run = {"seed": manifest.seed, "attack_precision": manifest.attack_precision}
    return _plain({**condition, **run})


def check_one_label(evaluation: Evaluation, path: Path, entries: "Iterable[Entry]") -> None:
    """A label is one model, and under a label a data set's name is one set of images.

    Raises:
        UserError: with the first difference.
    """
    new = model_identity(evaluation)
    for entry in entries:
        if entry.evaluation.label != evaluation.label:
            continue
        about = f"label {evaluation.label}"
        found = first_difference(model_identity(entry.evaluation), new)
        if found is None and entry.evaluation.dataset["name"] == evaluation.dataset["name"]:
            about += f" on {evaluation.dataset['name']}"
            found = first_difference(_images(entry.evaluation), _images(evaluation))
        if found:
            raise UserError(f"{about} is {_two(found, entry.folders[0], path)}; {ADVICE}")


ADVICE = "evaluate one of them again under another --label, or report them separately"


def check_same(earlier: "Entry", entry: "Entry", before: pa.Table, now: pa.Table) -> None:
    """Two runs may both hold a condition of a label, if its content is the same.

    Raises:
        UserError: with the first difference.
    """
    label, _, _, condition = entry.key
    paths = earlier.folders[0], entry.folders[0]
    found = first_difference(condition_identity(earlier), condition_identity(entry))
    if found:
        raise UserError(f"{label} {condition} is {_two(found, *paths)}; {ADVICE}")
    one, other = (_facts(table) for table in (before, now))
    if len(one) != len(other):
        raise UserError(
            f"{label} {condition} has {len(one)} images in {paths[0]} and {len(other)} in "
            f"{paths[1]}; {ADVICE}"
        )
    different = sum(a != b for a, b in zip(one, other, strict=True))
    if different:
        raise UserError(
            f"{label} {condition} differs between {paths[0]} and {paths[1]} at {different} of "
            f"{len(one)} images; {ADVICE}"
        )


def _facts(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = table.select(FACTS).to_pydict().values()
    return sorted(zip(*columns, strict=True), key=lambda row: str(row[0]))


def _images(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "dataset": data_identity(evaluation),
        "preprocessing": _plain(evaluation.preprocessing),
    }


def _two(found: Difference, one: Path, other: Path) -> str:
    return f"two things: {found.path} is {found.old} in {one} and {found.new} in {other}"


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON reads it back, so that tuples equal lists."""
    plain: dict[str, Any] = json.loads(json.dumps(values))
    return plain
