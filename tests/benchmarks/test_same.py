"""What `make same` compares: equal folders pass, and the smallest change of any kind is named."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.differences import compare_folders, summary

LOSSES = [0.1, 2.5, None, math.nan]
PART = Path("parts", "deit", "val", "part-000000.parquet")
SENTENCE = "A sentence."


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A run folder of one part, of two conditions on two images."""
    folder = tmp_path / "there"
    write_part(folder, losses=LOSSES)
    settings = {"seed": 0, "evaluations": [{"label": "deit", "notes": [SENTENCE]}]}
    (folder / "run.json").write_text(json.dumps(settings))
    results = pd.DataFrame(
        {
            **{"label": "deit", "dataset": "val", "protocol": "pixel"},
            **{"condition": ["clean", "pgd@4/255"], "top1": [50.0, 0.1], "seconds": [1.0, 2.0]},
            "flags": ["", "steps=40;mixed-versions"],
        }
    )
    results.to_csv(folder / "results.csv", index=False)
    return folder


@pytest.fixture
def here(there: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(there, tmp_path / "here")


def write_part(
    folder: Path,
    *,
    losses: list[float | None],
    rows: int = 4,
    message: str | None = "failed",
    **meta: Any,
) -> None:
    columns = {
        **{"label": ["deit"] * 4, "dataset": ["val"] * 4, "protocol": ["pixel"] * 4},
        "condition": ["clean", "pgd@4/255"] * 2,
        "image": ["a", "a", "b", "b"],
        "loss": pa.array(losses, pa.float64()),
        "message": pa.array([None, None, None, message], pa.string()),
    }
    cost = {"n_forward": 4, "seconds": 1.5}
    beside = {"flags": [], "belongs_to": "x", "costs": {"pixel:clean": cost}, **meta}
    table = pa.table(columns).slice(0, rows)
    table = table.replace_schema_metadata({"robustbench_twicing": json.dumps(beside)})
    (folder / PART).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / PART)


def change_text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def change_part(**changed: Any) -> Callable[[Path], None]:
    return lambda folder: write_part(folder, **{"losses": LOSSES, **changed})


ULP = math.nextafter(0.1, 1)
KEY = f"{PART.as_posix()} deit val pixel clean a"
CHANGES = {
    "one bit of a loss": (
        change_part(losses=[ULP, *LOSSES[1:]]),
        f"records: column loss, first difference: {KEY}, 0.1 there, {ULP!r} here (1 of 4)",
    ),
    "the sign of zero": (
        change_part(losses=[-0.0, *LOSSES[1:]]),
        f"records: column loss, first difference: {KEY}, 0.1 there, -0.0 here (1 of 4)",
    ),
    "a NaN for nothing": (
        change_part(losses=[0.1, 2.5, math.nan, math.nan]),
        f"{PART.as_posix()} deit val pixel clean b, None there, nan here (1 of 4)",
    ),
    "a missing record": (
        change_part(rows=3),
        f"records: 1 rows only there, first: {PART.as_posix()} deit val pixel pgd@4/255 b",
    ),
    "no message any more": (change_part(message=None), "records: column message"),
    "a flag of a part": (change_part(flags=["batch-halved"]), "metadata of parts: "),
    "another cost": (
        change_part(costs={"pixel:clean": {"n_forward": 5}}),
        f"{PART.as_posix()} costs.pixel:clean.n_forward, 4 there, 5 here",
    ),
    "another name of a part": (
        lambda folder: (folder / PART).rename(folder / PART.with_name("part-000001.parquet")),
        "records: 4 rows only there",
    ),
    "no parts": (lambda folder: shutil.rmtree(folder / "parts"), "records: only there"),
    "one digit of an accuracy": (
        change_text("results.csv", "0.1,", "0.10000000000000002,"),
        "results.csv: column top1, first difference: deit val pixel pgd@4/255, 0.1 there",
    ),
    "a flag": (
        change_text("results.csv", "steps=40", "steps=41"),
        "results.csv: column flags, first difference: deit val pixel pgd@4/255, steps=40 there",
    ),
    "a setting": (
        change_text("run.json", '"seed": 0', '"seed": 1'),
        "run.json: column value, first difference: seed, 0 there, 1 here",
    ),
}
"""What is changed, and what must be said of it."""


@pytest.mark.parametrize("change", CHANGES)
def test_the_smallest_change_is_named(change: str, there: Path, here: Path) -> None:
    make, line = CHANGES[change]
    make(here)
    comparison = compare_folders("run", there, here)
    assert comparison.differences
    assert any(line in difference for difference in comparison.differences)
    assert all(text.startswith("DIFFERENT: run: ") for text in comparison.lines())
    assert summary([comparison]).startswith("0 of 1 comparisons identical: 0 rows")


def test_equal_folders_are_the_same(there: Path, here: Path) -> None:
    comparison = compare_folders("run", there, here)
    assert list(comparison.lines()) == ["same: run: 2 rows, 4 records"]
    assert summary([comparison] * 2) == "2 of 2 comparisons identical: 4 rows, 8 records"


def test_time_versions_and_wording_may_differ(there: Path, here: Path) -> None:
    costs = {"pixel:clean": {"n_forward": 4, "seconds": 9.0}}
    change_part(message="failed in other words", costs=costs, belongs_to="y")(here)
    change_text("results.csv", "2.0", "3.0")(here)
    change_text("results.csv", ";mixed-versions", "")(here)
    change_text("run.json", SENTENCE, "Another one.")(here)
    assert list(compare_folders("run", there, here).lines()) == [
        "same: run: 2 rows, 4 records",
        "wording differs: run: words in run.json",
    ]


def test_a_report_is_compared_by_its_tables_alone(there: Path, here: Path) -> None:
    shutil.rmtree(here / "parts")
    (here / "run.json").unlink()
    comparison = compare_folders("report", there, here, csv_only=True)
    assert list(comparison.lines()) == ["same: report: 2 rows, 0 records"]


def test_an_empty_folder_is_not_the_same_as_itself(tmp_path: Path) -> None:
    comparison = compare_folders("report", tmp_path, tmp_path, csv_only=True)
    assert comparison.differences == ("results.csv has no rows there",)


def test_spsa_whose_signs_are_others_by_now_is_left_out(there: Path, here: Path) -> None:
    for folder, top1, loss in ((there, 50.0, 0.1), (here, 25.0, 0.2)):
        table = pq.read_table(folder / PART)
        names = pa.array(["clean", "spsa@4/255"] * 2)
        table = table.set_column(table.column_names.index("condition"), "condition", names)
        losses = pa.array([0.1, loss, None, loss])
        table = table.set_column(table.column_names.index("loss"), "loss", losses)
        pq.write_table(table, folder / PART)
        results = pd.read_csv(folder / "results.csv").replace({"pgd@4/255": "spsa@4/255"})
        results.loc[1, "top1"] = top1
        results.to_csv(folder / "results.csv", index=False)
    comparison = compare_folders("spsa", there, here)
    assert not comparison.differences
    assert (comparison.rows, comparison.records) == (1, 2)
