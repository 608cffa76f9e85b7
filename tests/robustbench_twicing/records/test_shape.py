"""A run.json that somebody else wrote or damaged is refused by the place that is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.manifest import Manifest
from tests.plain_manifest import plain_condition, plain_evaluation

WRONG: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "evaluations.0.label": (("evaluations", 0, "label"), None),
    "evaluations.0.record.flags": (("evaluations", 0, "record", "flags"), "x"),
    "evaluations.0.record.notes.0": (("evaluations", 0, "record", "notes"), [1]),
    "evaluations.0.record.model": (("evaluations", 0, "record", "model"), ["m"]),
    "evaluations.0.dataset.n_images": (("evaluations", 0, "dataset", "n_images"), -1),
    "evaluations.0.dataset.name": (("evaluations", 0, "dataset", "name"), {}),
    "evaluations.0.dataset.fingerprint": (("evaluations", 0, "dataset", "fingerprint"), None),
    "evaluations.0.preprocessing.std": (("evaluations", 0, "preprocessing", "std"), []),
    "evaluations.0.conditions.pixel:clean": (("evaluations", 0, "conditions", "pixel:clean"), "x"),
    "conditions.0.eps": (("conditions", 0, "eps"), "1/0"),
    "conditions.0.protocol": (("conditions", 0, "protocol"), "mine"),
    "conditions.0.threat": (("conditions", 0, "threat"), []),
    "conditions.0.images": (("conditions", 0, "images"), {}),
    "clean: steps is no number": (("conditions", 0, "settings"), {"steps": "x"}),
    "clean: it changes": (("conditions", 0, "changed"), {"steps": 3}),
    "batch_size": (("batch_size",), 0),
    "seed": (("seed",), "0"),
    "it names no model": (("evaluations",), []),
}


def good() -> dict[str, Any]:
    """A manifest as JSON has it."""
    evaluation = plain_evaluation("m", 4, {"pixel:clean": 4})
    manifest = Manifest((evaluation,), (plain_condition("clean"),), 0, 2)
    values: dict[str, Any] = json.loads(json.dumps(manifest.to_json()))
    return values


@pytest.mark.parametrize("place", WRONG)
def test_the_wrong_place_is_named(place: str) -> None:
    keys, value = WRONG[place]
    values = good()
    Manifest.from_json(values, "run.json")
    holder: Any = values
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = value
    with pytest.raises(UserError, match=r"run\.json is not a manifest of this version") as caught:
        Manifest.from_json(values, "run.json")
    if place != "conditions.0.protocol":  # it is first found not to be the evaluation's
        assert place in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [("conditions", "a condition is there twice"), ("evaluations", "a model is there twice")],
)
def test_what_is_there_twice_is_refused(name: str, words: str) -> None:
    values = good()
    values[name] *= 2
    with pytest.raises(UserError, match=words):
        Manifest.from_json(values, "run.json")


def test_more_images_than_can_be_counted_are_refused() -> None:
    values = good()
    values["evaluations"][0]["dataset"]["n_images"] = float("inf")
    with pytest.raises(UserError, match="is not a manifest of this version"):
        Manifest.from_json(values, "run.json")


def test_more_parts_than_can_be_looked_for_are_refused(tmp_path: Path) -> None:
    values = good()
    values["evaluations"][0]["dataset"]["n_images"] = 2_000_000_000
    with pytest.raises(UserError, match="2,000,000,000 images in parts of 2"):
        Manifest.from_json(values, "run.json")
