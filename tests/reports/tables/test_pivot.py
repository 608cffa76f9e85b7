"""Free tables: one number a cell, or a reason."""

from pathlib import Path
from typing import Any

import pytest

from reports import merge, results
from reports.tables.pivot import pivot_tables
from reports.tables.table import Table
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.run_folder import RunFolder
from tests.reports.made import Outcomes, write_run

A: Outcomes = {"clean": [0, 0, 9], "pgd@1/255": [0, 9, 9]}
B: Outcomes = {"clean": [0, 0, 0], "pgd@1/255": [9, 9, 9]}


def pivot(folders: list[RunFolder], rows: str, columns: str, values: str = "top1") -> list[Table]:
    runs = merge(folders)
    names = {"rows": rows.split(), "columns": columns.split(), "values": values.split()}
    return pivot_tables(runs, results(runs), **names)


def cells(sheet: Table) -> list[list[str]]:
    return [
        [sheet.cell(row, col) for col in range(len(sheet.columns))]
        for row in range(len(sheet.frame))
    ]


@pytest.mark.slow
def test_labels_down_and_conditions_across(tmp_path: Path) -> None:
    (sheet,) = pivot([write_run(tmp_path, {"b": A, "a": B})], "label", "condition")
    assert sheet.row_names == [("b",), ("a",)]  # in order of the runs, not of the alphabet
    assert [column.name for column in sheet.columns] == ["clean", "pgd@1/255"]
    assert cells(sheet) == [["66.67", "33.33"], ["100.00", "0.00"]]
    assert sheet.place == "data set val; images 3; protocol pixel; seed 0"
    assert sheet.entries is not None
    assert sheet.entries.tolist() == [[0, 1], [2, 3]]


@pytest.mark.slow
def test_several_values_and_several_names(tmp_path: Path) -> None:
    folders = [write_run(tmp_path, {"a": A, "b": B})]
    (sheet,) = pivot(folders, "label attack", "dataset", "top1 n_images")
    assert sheet.stub == ("label", "attack")
    assert sheet.row_names == [("a", "clean"), ("a", "pgd"), ("b", "clean"), ("b", "pgd")]
    assert cells(sheet)[0] == ["66.67", "3"]
    assert [column.full_name for column in sheet.columns] == ["val top1", "val n_images"]


@pytest.mark.slow
def test_what_is_not_there_is_empty(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "1", {"a": A}),
        write_run(tmp_path / "2", {"b": {"clean": B["clean"]}}),
    ]
    (sheet,) = pivot(folders, "label", "condition")
    assert cells(sheet)[1] == ["100.00", ""]
    assert sheet.entries is not None
    assert sheet.entries[1, 1] == -1


@pytest.mark.slow
def test_protocols_are_columns_or_tables_of_their_own(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / name, {"a": A}, protocol=name) for name in ("pixel", "paper")]
    assert [sheet.about["protocol"].tolist() for sheet in pivot(folders, "label", "condition")] == [
        ["pixel"],
        ["paper"],
    ]
    (sheet,) = pivot(folders, "label", "protocol condition")
    assert [column.name for column in sheet.columns][:2] == ["pixel, clean", "pixel, pgd@1/255"]
    with pytest.raises(UserError, match="protocols never share a column"):
        pivot(folders, "label protocol", "condition")


def test_norms_never_share_a_table(tmp_path: Path) -> None:
    l2: Outcomes = {"clean": [0, 0, 9], "pgd@l2:0.5": [9, 9, 9]}
    folders = [
        write_run(tmp_path / "pixel", {"a": A}, protocol="pixel"),
        write_run(tmp_path / "paper", {"a": A}, protocol="paper"),
        write_run(tmp_path / "l2", {"a": l2}, protocol="l2"),
    ]
    for rows, columns in (("label", "protocol condition"), ("label attack", "protocol")):
        sheets = pivot(folders, rows, columns)
        assert [sheet.name for sheet in sheets] == ["table-top1-val-linf", "table-top1-val-l2"]
        assert [set(sheet.about["protocol"]) for sheet in sheets] == [{"pixel, paper"}, {"l2"}]
    names = ["table-top1-val-pixel", "table-top1-val-paper", "table-top1-val-l2"]
    assert [sheet.name for sheet in pivot(folders, "label", "norm condition")] == names


@pytest.mark.slow
def test_data_sets_are_rows_columns_or_tables_of_their_own(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / name, {"a": A}, data={"name": name}) for name in ("one", "two")]
    assert len(pivot(folders, "label", "condition")) == 2
    (sheet,) = pivot(folders, "label dataset", "condition")
    assert sheet.row_names == [("a", "one"), ("a", "two")]


def test_rows_and_columns_of_no_budget_say_so_and_keep_their_flags(tmp_path: Path) -> None:
    """Corruptions have no budget: NaN, which is not equal to itself."""
    outcomes = {"clean": [0, 0], "pgd@1/255": [0, 1], "fmn": [0, 1]}
    runs = merge([write_run(tmp_path, {"a": outcomes})])
    table = results(runs).assign(flags=["", "one", "two"])
    table.loc[2, ["eps_255", "eps"]] = None
    for name in ("eps_255", "eps"):
        (sheet,) = pivot_tables(runs, table[1:], rows=[name], columns=["label"], values=["top1"])
        assert [row[0] for row in sheet.row_names][1] == f"no {name}"
        assert sheet.about["flags"].tolist() == ["one", "two"]
        assert sheet.about["dataset"].tolist() == ["val", "val"]
        (sheet,) = pivot_tables(runs, table[1:], rows=["label"], columns=[name], values=["top1"])
        assert [column.name for column in sheet.columns][1] == f"no {name}"


def test_two_results_for_one_cell_raise(tmp_path: Path) -> None:
    outcomes = {"clean": [0], "pgd@1/255": [0], "pgd@2/255": [9]}
    wanted = (
        r"2 results would share the cell of label a, attack pgd; they differ in condition, "
        r"eps_255, eps_pixel_255_max, step_size_255: add one of these to --rows or --columns"
    )
    with pytest.raises(UserError, match=wanted):
        pivot([write_run(tmp_path, {"a": outcomes})], "label", "attack")


def test_results_without_a_value_that_would_share_a_cell_are_named(tmp_path: Path) -> None:
    wanted = "2 results would share the cell of label a, no goal_hit; they differ in condition"
    with pytest.raises(UserError, match=wanted):
        pivot([write_run(tmp_path, {"a": A})], "label", "goal_hit")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("labels", "condition", "top1"), "no column 'labels'. Did you mean 'label'?"),
        (("label", "condition", "zzz"), "no column 'zzz'. It has label, model, .*, preprocessing$"),
        (("label", "condition", "accuracy"), "no column 'accuracy'. Did you mean 'top1'?"),
        (("", "condition", "top1"), "--rows is empty; name columns of results.csv"),
        (("label", "", "top1"), "--columns is empty"),
        (("label", "condition", ""), "--values is empty"),
        (("label", "condition label", "top1"), "label is named twice in --rows"),
    ],
)
def test_bad_names_are_refused(names: tuple[str, str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words.replace("?", r"\?")):
        pivot([write_run(tmp_path, {"a": A})], *names)


@pytest.mark.slow
def test_one_condition_treated_two_ways_is_refused_anywhere(tmp_path: Path) -> None:
    only: Outcomes = {"pgd@1/255": A["pgd@1/255"]}
    folders = [
        write_run(tmp_path / "1", {"a": only}),
        write_run(tmp_path / "2", {"b": only}, settings={"steps": 3}),
    ]
    for rows, columns in (("label", "condition"), ("condition", "label")):
        with pytest.raises(UserError, match=r"settings\.steps is 20 for a and 3 for b"):
            pivot(folders, rows, columns)


@pytest.mark.slow
def test_only_a_table_of_labels_has_a_best(tmp_path: Path) -> None:
    folders = [write_run(tmp_path, {"a": A, "b": B})]
    bests: dict[str, Any] = {
        rows: {column.best for column in pivot(folders, rows, columns)[0].columns}
        for rows, columns in (("label", "condition"), ("condition", "label"))
    }
    assert bests == {"label": {"highest"}, "condition": {""}}
