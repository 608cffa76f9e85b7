"""How images became network input, in words, and who says each part of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports import merge, results
from reports.merging.entry import Entry
from reports.metrics.preprocessing import (
    preprocessing_notes,
    preprocessing_origins,
    preprocessing_words,
)
from robustbench_twicing.data.preprocessing import Preprocessing
from tests.reports.made import write_run

PARTS = Preprocessing(8, 10, "bilinear", (0.5, 0.4, 0.3), (0.2, 0.2, 0.2))
CONSTANTS = "mean 0.5, 0.4, 0.3, std 0.2, 0.2, 0.2"
SIZES = "resized to 10 (bilinear), cropped to 8 pixels"
ALL = dict.fromkeys(
    ["crop", "resize", "interpolation", "mean", "std", "squash"], "the architecture"
)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Entry:
    folder = tmp_path_factory.mktemp("run") / "run"
    (entry,) = merge([write_run(folder, {"net": {"clean": [0]}})]).entries
    return entry


def entry(plain: Entry, label: str = "net", parts: Preprocessing = PARTS, **details: Any) -> Entry:
    record = replace(plain.evaluation.record, details=details)
    evaluation = replace(plain.evaluation, label=label, record=record, preprocessing=parts)
    return replace(plain, evaluation=evaluation)


@pytest.mark.parametrize(
    ("details", "wanted"),
    [
        ({}, f"{SIZES}, {CONSTANTS}"),
        ({"takes_pixels": True}, SIZES),
        ({"preprocessing_from": ALL}, f"{SIZES}, {CONSTANTS} (from the architecture)"),
        (
            {"preprocessing_from": {**ALL, "mean": "request", "std": "config.json"}},
            f"{SIZES}, {CONSTANTS} (from the architecture: crop, interpolation, resize; "
            "request: mean; config.json: std)",
        ),
        (
            {"preprocessing_from": {**ALL, "mean": "request"}, "takes_pixels": True},
            f"{SIZES} (from the architecture)",
        ),
    ],
)
def test_each_part_and_who_says_it(plain: Entry, details: dict[str, Any], wanted: str) -> None:
    assert preprocessing_words(entry(plain, **details)) == wanted
    assert f"(from {preprocessing_origins(entry(plain, **details))})" in f"{wanted} (from )"


def test_models_that_agree_are_not_named(plain: Entry) -> None:
    other = replace(PARTS, resize=8, squash=True)
    entries = [entry(plain, "a"), entry(plain, "b"), entry(plain, "c", other)]
    assert preprocessing_notes(entries[:2]) == [f"preprocessing: {SIZES}, {CONSTANTS}"]
    assert preprocessing_notes(entries) == [
        f"preprocessing of a, b: {SIZES}, {CONSTANTS}",
        "preprocessing of c: resized to 8 whatever their proportions (bilinear), cropped to "
        f"8 pixels, {CONSTANTS}",
    ]


def test_a_column_of_results_says_it(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path / "run", {"net": {"clean": [0], "pgd@1/255": [0]}})])
    assert set(results(runs)["preprocessing"]) == {preprocessing_words(runs.entries[0])}
