"""Transfer rates, counted by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports import Runs, merge, results
from reports.metrics.transfer import save_transfers, transfer_rates
from reports.tables.presets import preset_tables
from robustbench_twicing.records.run_folder import RunFolder
from tests.reports.made import Outcomes, model, write_run

ON_B = "transfer/12345678/fgsm:4/255"
SETTINGS = {
    "source_label": "a",
    "source_weights": model("a").weights_sha256,
    "source_condition": "fgsm@4/255",
}


def source_run(folder: Path) -> RunFolder:
    """Image 2 is wrong before the attack, which fools the first and the fourth."""
    return write_run(folder / "a", {"a": {"clean": [0, 0, 1, 0, 0], "fgsm@4/255": [1, 0, 2, 1, 0]}})


def target_run(folder: Path) -> RunFolder:
    """Image 3 is wrong before; only image 1 stays right."""
    outcomes = {"clean": [0, 0, 0, 1, 0], "noise@4/255": [0, 0, 0, 1, 1], ON_B: [1, 0, 1, 1, 1]}
    return write_run(folder / "b", {"b": outcomes}, settings=SETTINGS)


def rates(runs: Runs) -> dict[tuple[str, str], dict[str, Any]]:
    rows: Any = transfer_rates(runs, results(runs)).to_dict("records")
    return {(row["source"], row["target"]): row for row in rows}


def test_rates_are_over_images_that_both_have_right(tmp_path: Path) -> None:
    """Those are 0, 1 and 4, of which 0 and 4 are wrong; only 0 had fooled the source."""
    by_pair = rates(merge([source_run(tmp_path), target_run(tmp_path)]))
    assert list(by_pair) == [("a", "a"), ("a", "b")]
    row = by_pair["a", "b"]
    assert (row["n_images"], row["top1"]) == (5, 20)
    assert (row["n_both_right"], row["n_transferred"]) == (3, 2)
    assert row["rate"] == pytest.approx(200 / 3)
    assert (row["n_fooled"], row["n_fooled_transferred"], row["rate_fooled"]) == (1, 1, 100)
    assert (row["control"], row["control_top1"]) == ("noise@4/255", 60)


def test_on_the_source_it_is_the_attack_itself(tmp_path: Path) -> None:
    row = rates(merge([source_run(tmp_path), target_run(tmp_path)]))["a", "a"]
    assert (row["condition"], row["top1"]) == ("fgsm@4/255", 40)
    assert (row["n_both_right"], row["n_transferred"], row["rate"]) == (4, 2, 50)
    assert (row["n_fooled"], row["n_fooled_transferred"], row["rate_fooled"]) == (2, 2, 100)


def test_without_the_source_only_accuracies_are_known(tmp_path: Path) -> None:
    runs = merge([target_run(tmp_path)])
    table = transfer_rates(runs, results(runs))
    assert table["top1"].tolist() == [20]
    assert table[["n_both_right", "rate", "rate_fooled"]].isna().all(axis=None)
    (path,) = save_transfers(table, tmp_path)
    assert pd.read_csv(path)["n_images"].tolist() == [5]
    (sheet,) = preset_tables("transfer", runs, results(runs))
    assert any(note.startswith("No rate for images of a") for note in sheet.notes)


def test_the_control_has_the_budget_of_the_attack(tmp_path: Path) -> None:
    outcomes = {"clean": [0] * 5, "noise@2/255": [0] * 5, "noise@4/255": [0, 0, 0, 1, 1]}
    target = write_run(tmp_path / "b", {"b": {**outcomes, ON_B: [1] * 5}}, settings=SETTINGS)
    row = rates(merge([source_run(tmp_path), target]))["a", "b"]
    assert (row["control"], row["control_top1"]) == ("noise@4/255", 60)


def test_an_attack_that_failed_on_some_images_is_no_source(tmp_path: Path) -> None:
    outcomes: Outcomes = {"clean": [0] * 5, "fgsm@4/255": [1, 0, 1, 1, "error"]}
    by_pair = rates(merge([write_run(tmp_path / "a", {"a": outcomes}), target_run(tmp_path)]))
    assert list(by_pair) == [("a", "b")]
    assert pd.isna(by_pair["a", "b"]["rate"])


def test_a_source_of_other_weights_is_another_one(tmp_path: Path) -> None:
    other = write_run(
        tmp_path / "a",
        {"a": {"clean": [0] * 5, "fgsm@4/255": [1] * 5}},
        models={"a": {"weights_sha256": "0" * 64}},
    )
    assert list(rates(merge([other, target_run(tmp_path)]))) == [("a", "b")]


def test_the_table_has_sources_down_and_targets_across(tmp_path: Path) -> None:
    runs = merge([source_run(tmp_path), target_run(tmp_path)])
    (sheet,) = preset_tables("transfer", runs, results(runs))
    assert sheet.row_names == [("clean", ""), ("fgsm@4/255", "a"), ("fgsm@4/255", "noise@4/255")]
    assert [column.full_name for column in sheet.columns] == [
        *("a top-1", "a rate", "a of", "b top-1", "b rate", "b of")
    ]
    cells = [[sheet.cell(row, column) for column in range(6)] for row in range(3)]
    assert cells == [
        ["80.00", "", "", "80.00", "", ""],
        ["40.00", "50.00", "4", "20.00", "66.67", "3"],
        ["", "", "", "60.00", "", ""],
    ]


def test_runs_without_transfers_have_none(tmp_path: Path) -> None:
    runs = merge([source_run(tmp_path)])
    assert transfer_rates(runs, results(runs)).empty
    assert save_transfers(transfer_rates(runs, results(runs)), tmp_path) == []
    assert preset_tables("transfer", runs, results(runs)) == []
