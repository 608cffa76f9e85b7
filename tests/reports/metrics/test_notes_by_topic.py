"""Notes by topic, and flags' topics: each said once, under the heading where one looks for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reports import merge, results
from reports.metrics.flags import topic_of
from reports.metrics.notes import notes, notes_by_topic
from tests.reports.made import Outcomes, write_run

pytestmark = pytest.mark.slow

RANKS: Outcomes = {"clean": [0, 1], "pgd@1/255": ["error", 0], "imagenet-c/fog/1": [0, 0]}


def topics(
    folder: Path, models: Mapping[str, Mapping[str, Any]], **changed: Any
) -> dict[str, list[str]]:
    runs = merge([write_run(folder, dict.fromkeys(models, RANKS), models=models, **changed)])
    table = results(runs)
    found = notes_by_topic(runs, table)
    said = [line for lines in found.values() for line in lines]
    assert len(said) == len(set(said))
    if all(len(about.get("notes", ())) < 1 for about in models.values()):
        assert set(said) <= set(notes(runs, table))
    return {str(topic): lines for topic, lines in found.items()}


def test_notes_stand_under_what_they_are_about(tmp_path: Path) -> None:
    found = topics(tmp_path / "run", {"A": {}}, data={"notes": ("grey images",)})
    assert found["images"][0] == "val: grey images"
    assert found["images"][1].startswith("A: pgd@1/255 failed and is not scored: ")
    (preprocessing,) = found["models"]
    assert preprocessing.startswith("preprocessing: resized to 256")
    assert found["corruptions"] == found["reading"] == found["runs"] == []


def test_what_models_share_is_said_once_and_its_numbers_as_a_range(tmp_path: Path) -> None:
    right = {"A": 871, "B": 905, "C": 873}
    models: dict[str, dict[str, tuple[str, ...]]] = {
        label: {"notes": (f"seed 0, {count} of 1000 right", "its own constant")}
        for label, count in right.items()
    }
    models["C"]["notes"] = models["C"]["notes"][:1]
    first, second, _ = topics(tmp_path / "run", models)["models"]
    assert first == "all 3 models: seed 0, 871 to 905 of 1000 right"
    assert second == "A, B: its own constant"


def test_numbers_of_two_models_stay_apart(tmp_path: Path) -> None:
    models = {label: {"notes": (f"alpha is 0.{n}",)} for n, label in enumerate("AB", 4)}
    assert topics(tmp_path / "run", models)["models"][:2] == ["A: alpha is 0.4", "B: alpha is 0.5"]


@pytest.mark.parametrize(
    ("flag", "topic"),
    [
        ("limit-100-of-1000", "images"),
        ("steps=8", "images"),
        ("my-own-flag", "images"),
        ("not-imagenet-c-32px", "corruptions"),
        ("random-weights", "models"),
        ("gradient-batch-dependent", "models"),
        ("mixed-machines", "runs"),
        ("worst-of-3", "reading"),
        ("1000-way", "images"),
    ],
)
def test_flags_have_a_topic(flag: str, topic: str) -> None:
    assert topic_of(flag) == topic
