"""Published numbers are the paper's; a verdict is only given where the same thing was measured."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from reports import merge, results
from reports.published import own_interval, published_numbers, verdict
from reports.statistics.intervals import Interval, wilson
from reports.tables.beside import beside_published
from reports.tables.formats.as_console import print_table
from reports.tables.presets import preset_tables
from reports.tables.table import Table
from robustbench_twicing.models.resolve import resolve_model
from tests.reports.made import Outcomes, write_run

DEIT = {"model": "deit_tiny_patch16_224"}


def test_models_are_known_by_their_canonical_names() -> None:
    numbers = published_numbers()
    assert len(numbers) == 95
    for model, _, _ in numbers:
        assert resolve_model(model).name == model


def test_some_numbers_as_printed() -> None:
    numbers = published_numbers()
    deit = numbers["deit_tiny_patch16_224", "clean", "top1"]
    assert (deit.value, deit.name, deit.table, deit.protocol) == (72.0, "DeiT", "tab:imagenet", "")
    half = numbers["deit_tiny_twicing_patch16_224[7-12]", "imagenet-c", "mCE"]
    assert (half.value, half.table) == (69.98, "tab:imagenet-arc-appendix")
    assert numbers["fan_tiny_12_p16_224_twicing", "pgd@4/255", "top5"].value == 28.86
    assert numbers["fan_tiny_12_p16_224", "spsa@1/255", "top1"].protocol == "paper"


def test_all_numbers_are_those_of_the_reference_tables(shared: Path) -> None:
    """Every cell of the four tables is there, under whatever name, and nothing else."""
    wanted: list[tuple[str, float]] = []
    for name in ("table1_attacks", "table2_shifts", "table_featscale", "table_efficiency"):
        with (shared / "paper" / f"{name}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                model = row.pop("model")
                row.pop("family", None)
                wanted += [(model, float(value)) for value in row.values()]
    scores = [(number.name, number.value) for number in published_numbers().values()]
    # DeiT and DeiT-Twicing stand in the table of FeatScale with the same clean accuracies.
    again = [("DeiT", 72.0), ("DeiT", 91.14), ("DeiT-Twicing", 72.6), ("DeiT-Twicing", 91.33)]
    assert sorted(wanted) == sorted([*scores, *again])


@pytest.mark.parametrize(
    ("reasons", "interval", "wanted"),
    [
        ([], Interval(71.6, 72.4), "agrees"),
        ([], Interval(72.005, 73), "agrees"),  # published numbers are rounded
        ([], Interval(71, 71.994), "differs"),
        ([], Interval(72.006, 73), "differs"),
        ([], None, "not judged"),
        (["a", "b"], Interval(71, 73), "not judged"),
    ],
)
def test_verdicts(reasons: list[str], interval: Interval | None, wanted: str) -> None:
    assert verdict(reasons, interval, 72.0) == wanted


def test_the_interval_is_wilsons() -> None:
    low, high = wilson(36_000, 50_000)
    assert own_interval(72.0, 50_000) == (100 * low, 100 * high)


def beside(preset: str, run: Any) -> tuple[Table, dict[str, dict[str, str]]]:
    """The table, and by number the cells beside the published one."""
    runs = merge([run])
    table = results(runs)
    (sheet,) = preset_tables(preset, runs, table)
    published = beside_published(sheet, runs, table)
    assert published is not None
    names = [column.name for column in published.columns]
    cells = {
        number: {name: published.cell(row, place) for place, name in enumerate(names)}
        for row, (_, number) in enumerate(published.row_names)
    }
    return published, cells


@pytest.mark.slow
def test_ours_beside_theirs(tmp_path: Path) -> None:
    """A reason that is true of all is said once above, another one in a note with a number."""
    ranks = [0] * 3 + [9]
    outcomes: Outcomes = {"clean": ranks, "pgd@4/255": ranks, "fgsm@1/255": ranks}
    table, cells = beside("table1", write_run(tmp_path, {"a": outcomes}, models={"a": DEIT}))
    assert set(cells) == {"Clean top-1", "Clean top-5", "PGD 4/255 top-1", "PGD 4/255 top-5"}
    clean = cells["Clean top-1"]
    low, high = wilson(3, 4)
    assert (clean["ours"], clean["published"], clean["diff."]) == ("75.00", "72.00", "3.00")
    assert (clean["from"], clean["to"]) == (f"{100 * low - 72:.1f}", f"{100 * high - 72:.1f}")
    assert table.title.endswith("; none is judged: 4 images rather than 50,000")
    assert clean["verdict"] == "not judged"
    assert cells["PGD 4/255 top-1"]["verdict"] == "not judged 1"
    assert table.notes[0] == "1: protocol pixel rather than paper."


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 100])
def test_on_a_terminal_every_number_has_one_line(width: int, tmp_path: Path) -> None:
    ranks = [0] * 3 + [9]
    labels = ("deit_tiny_patch16_224", "a-model-of-ones-own-with-a-long-name")
    outcomes: Outcomes = {"clean": ranks, "pgd@4/255": ranks, "fgsm@4/255": ranks}
    run = write_run(tmp_path, dict.fromkeys(labels, outcomes), models=dict.fromkeys(labels, DEIT))
    table, _ = beside("table1", run)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_table(table, console, notes="none")
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    rows = [line for line in text.splitlines() if line.startswith("│")]
    assert len(rows) == len(table.frame) >= 8
    assert all("not judged" in row and "top-" in row for row in rows)
    assert all(label in text.splitlines() for label in labels)


@pytest.mark.slow
def test_the_whole_set_is_judged(tmp_path: Path) -> None:
    """36,000 of 50,000 is what the paper has to two digits; 35,000 is not."""
    for right, wanted in ((36_000, "agrees"), (35_000, "differs")):
        ranks = [0] * right + [9] * (50_000 - right)
        run = write_run(
            tmp_path / wanted, {"a": {"clean": ranks}}, models={"a": DEIT}, part_size=50_000
        )
        _, cells = beside("featscale", run)
        assert cells["top-1"]["verdict"] == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"models": {"a": {**DEIT, "flags": ["random-weights"]}}}, "the weights are random"),
        (
            {"models": {"a": {**DEIT, "flags": ["arch-override"]}}},
            "the file names another architecture",
        ),
        ({"models": {"a": {"model": "fan_tiny_12_p16_224"}}}, "does not say which FAN it used"),
        ({"settings": {"steps": 40}, "models": {"a": DEIT}}, "steps is 40, not the protocol's"),
        (
            {"data": {"flags": ["several-labels"]}, "models": {"a": DEIT}},
            "any of several labels is right",
        ),
        (
            {"protocol": "paper", "models": {"a": DEIT}},
            "none is judged: 2 images rather than 50,000",
        ),
    ],
)
def test_reasons_why_not(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    run = write_run(tmp_path, {"a": {"pgd@4/255": [0, 9]}}, **options)
    table, _ = beside("table1", run)
    assert words in table.title


@pytest.mark.slow
def test_corruption_errors_have_no_interval(tmp_path: Path) -> None:
    from reports.imagenet_c.corruption_error import EXTRA, MAIN, SEVERITIES

    names = [f"imagenet-c/{name}/{level}" for name in (*MAIN, *EXTRA) for level in SEVERITIES]
    outcomes: Outcomes = {name: [0, 9] for name in names}
    run = write_run(tmp_path, {"a": outcomes}, models={"a": DEIT})
    table, cells = beside("table2", run)
    assert set(cells) == {"ImageNet-C mCE", "ImageNet-C (extra) mean CE"}
    assert cells["ImageNet-C mCE"]["published"] == "72.21"
    assert cells["ImageNet-C mCE"]["to"] == ""
    assert "2 images rather than 50,000" in table.title
    assert "it has no interval" in table.title


@pytest.mark.slow
def test_unknown_models_have_nothing_beside_them(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path, {"a": {"clean": [0]}})])
    table = results(runs)
    (sheet,) = preset_tables("featscale", runs, table)
    assert beside_published(sheet, runs, table) is None
