"""Images that changed: by position as by id, in a file as in a table."""

from pathlib import Path

import pandas as pd
import pytest

from reports import merge, results, with_worst
from reports.statistics import changed
from reports.statistics.changed import changed_images
from reports.statistics.comparison import Comparison, compare, save_comparison
from reports.text.csv_text import csv_text
from tests.reports.made import Outcomes, write_run

BASE: Outcomes = {
    "clean": [0, 0, 0, 0, 9, 0, 0],
    "fgsm@1/255": [1, 0, 0, 0, 9, "error", 3],
    "pgd@1/255": [0, 2, 0, 0, 9, 0, 0],
    "pgd@4/255": [5, 6, 0, 0, 9, 1, 0],
}
OTHER: Outcomes = {name: [*ranks[3:], *ranks[:3]] for name, ranks in BASE.items()}
IMAGES = ["=1,2", 'a"b', "c\nd", "e\rf", "ü.png", "g h", "i"]


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    """Of two labels, with the worst case; what failed is left out."""
    failed = "fgsm@1/255"
    scored = [{**outcomes, failed: outcomes["pgd@4/255"]} for outcomes in (BASE, OTHER)]
    both = dict(zip(("+a", "b,c"), scored, strict=True))
    runs = with_worst(merge([write_run(tmp_path / "run", both, images=IMAGES)]))
    return compare(runs, results(runs))


def test_the_file_is_the_table(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed, "MOST_LINES", 4)
    _, path = save_comparison(comparison, tmp_path)
    assert len(comparison.changed) > 8
    assert path.read_bytes().decode() == csv_text(comparison.changed)


def test_images_are_the_same_by_position_and_by_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks hold two images here, and one attack failed on an image."""
    monkeypatch.setattr(changed, "MOST_RECORDS", 16)
    outcomes = {"a": BASE, "b": {**OTHER, "clean": BASE["clean"]}}
    runs = with_worst(merge([write_run(tmp_path, outcomes)]))
    places = {entry.key: position for position, entry in enumerate(runs.entries)}
    pairs = [(at, places["b", *key[1:]]) for key, at in places.items() if key[0] == "a"]
    by_position = changed_images(runs, pairs).frame()
    assert by_position["pair"].nunique() == len(pairs) - 1 == 5  # all but clean
    monkeypatch.setattr(changed, "_have_same_images", lambda *_: False)
    pd.testing.assert_frame_equal(by_position, changed_images(runs, pairs).frame())
