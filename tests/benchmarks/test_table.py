"""The table of every benchmark, and that `make bench` knows every script."""

from pathlib import Path

import pytest

from benchmarks import table, timing
from benchmarks.__main__ import BENCHMARKS, KEPT, kept
from benchmarks.table import Table


def test_columns_are_lined_up_below_title_and_explanation() -> None:
    made = Table("PGD", ["way", "ms"], [["own", "1.0"], ["other way", "12.5"]], "Median of 3.")
    assert made.markdown() == (
        "## PGD\n\nMedian of 3.\n\n"
        "| way       |   ms |\n"
        "| --------- | ---: |\n"
        "| own       |  1.0 |\n"
        "| other way | 12.5 |\n"
    )


def test_what_was_skipped_is_a_heading_and_the_reason() -> None:
    assert Table("Kernels", [], [], "Skipped: why.").markdown() == "## Kernels\n\nSkipped: why.\n"


def test_a_ratio_is_of_the_times_of_one_round() -> None:
    seconds = {"floor": [1.0, 2.0, 4.0], "way": [2.0, 4.0, 8.0]}
    made = timing.ratio_table("x", seconds, ("floor",), images=4)
    assert made.columns == ["way", "ms/image", "ratio to floor"]
    assert made.rows == [["floor", "500.0", "1.000"], ["way", "1000.0", "2.000"]]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_script_that_measures_is_on_the_page(name: str) -> None:
    assert "def measure(" in (Path(table.__file__).parent / f"{name}.py").read_text("utf-8")


def test_no_script_is_left_out() -> None:
    scripts = Path(table.__file__).parent.glob("*.py")
    measuring = {path.stem for path in scripts if "\ndef measure(" in path.read_text()}
    assert measuring == {*BENCHMARKS, "gpu"}  # that is of a device, and run by itself


def test_the_end_of_the_page_that_is_written_by_hand_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert kept(page) == ""
    page.write_text(f"# Old\n\n{KEPT}\n\nMeasured once.\n", encoding="utf-8")
    assert kept(page) == f"\n{KEPT}\n\nMeasured once.\n"
    page.write_text(f"# New\n{kept(page)}", encoding="utf-8")
    assert page.read_text(encoding="utf-8") == f"# New\n\n{KEPT}\n\nMeasured once.\n"


def test_the_page_of_this_repository_has_such_an_end() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
    assert "python -m benchmarks.start_time" in kept(page)
