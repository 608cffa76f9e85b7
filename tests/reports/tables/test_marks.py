"""Best and second best, by value and by test."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports import Runs, merge, results
from reports.tables.marks import BEST_NOTE, SECOND_NOTE, mark
from reports.tables.presets import preset_tables
from reports.tables.table import ABOUT, Best, Column, Table
from tests.reports.made import Outcomes, write_run

NAN = float("nan")


def sheet(values: list[float], groups: str = "", best: Best = "highest") -> Table:
    index = pd.Index([f"m{number}" for number in range(len(values))], name="model")
    about = pd.DataFrame("", index=index, columns=list(ABOUT))
    column = (Column("a", best=best),)
    frame = pd.DataFrame({0: values}, index=index, dtype=float)
    return Table("t", "t", frame, column, about, tuple(groups))


def marks(values: list[float], groups: str = "", best: Best = "highest") -> str:
    """One letter a row: b(est), s(econd) or -."""
    marked = mark(sheet(values, groups, best), "best").marks
    return "".join(marked.get((row, 0), "-")[0] for row in range(len(values)))


@pytest.mark.parametrize(
    ("values", "groups", "wanted"),
    [
        ([1, 3, 2], "", "-bs"),
        ([3, 1, 2], "aaa", "b-s"),
        ([1, 2], "", "-b"),
        ([5], "", "-"),
        ([], "", ""),
        ([1, 2, 9, 8], "aabb", "-bb-"),
        ([1, 9, 2, 8, 3], "ababa", "-bs-b"),
        ([3, 3, 1, 1], "", "bb--"),
        ([3, 3, 1], "", "---"),  # where most are best, none stands out
        ([3, 2, 2], "", "bss"),
        ([2, 2, 2], "", "---"),
        ([NAN, 1, 2, 3], "", "--sb"),
        ([NAN, 1], "", "--"),
        ([NAN, NAN], "", "--"),
        ([72.601, 72.602, 1], "", "sb-"),
    ],
)
def test_the_best_of_a_group_by_value(values: list[float], groups: str, wanted: str) -> None:
    assert marks(values, groups) == wanted
    assert marks([-value for value in values], groups, "lowest") == wanted
    assert marks(values, groups, "") == "-" * len(values)


def test_the_note_is_there_where_a_mark_is() -> None:
    assert mark(sheet([1, 2]), "best").notes == (BEST_NOTE,)
    assert mark(sheet([1, 2, 3]), "best").notes == (SECOND_NOTE,)
    assert mark(sheet([1, 1]), "best").notes == ()
    assert mark(sheet([1, 2]), "none").marks == {}


def right(count: int, images: int = 40) -> list[int]:
    return [0] * count + [7] * (images - count)


def significant(outcomes: dict[str, Outcomes], tmp_path: Path) -> tuple[str, str]:
    """Marks of the clean column of table featscale, and the last note."""
    runs = merge([write_run(tmp_path, outcomes)])
    (made,) = preset_tables("featscale", runs, results(runs))
    marked = mark(made, "significant", runs)
    letters = "".join(marked.marks.get((row, 0), "-")[0] for row in range(len(outcomes)))
    return letters, marked.notes[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ((10, 12), "--"),  # two images of 40 are chance
        ((10, 30), "-b"),
        ((30, 10, 20), "b-s"),
        ((30, 29, 10), "-s-"),  # not better than the second, which is better than the third
        ((30, 20, 19), "b--"),
        ((20, 20, 20), "---"),
    ],
)
def test_only_what_tests_show_is_marked(
    counts: tuple[int, ...], wanted: str, tmp_path: Path
) -> None:
    outcomes: dict[str, Outcomes] = {
        f"m{number}": {"clean": right(count)} for number, count in enumerate(counts)
    }
    found, note = significant(outcomes, tmp_path)
    assert found == wanted
    tests = 2 * (1 if len(counts) == 2 else 3)  # top-1 and top-5
    assert f"Holm over all {tests} tests" in note


@pytest.mark.slow
def test_the_whole_table_is_the_family(tmp_path: Path) -> None:
    """Six images more, none fewer: p is 1/32, which two tests make 1/16."""
    few: dict[str, Outcomes] = {"a": {"clean": [0] * 34 + [1] * 6}, "b": {"clean": [0] * 40}}
    assert significant(few, tmp_path / "few")[0] == "--"  # top-1 and top-5
    more: dict[str, Outcomes] = {"a": {"clean": [0] * 33 + [1] * 7}, "b": {"clean": [0] * 40}}
    assert significant(more, tmp_path / "more")[0] == "-b"  # 1/64, twice


@pytest.mark.slow
def test_budgets_of_0_and_the_control_are_not_tested(tmp_path: Path) -> None:
    names = ("clean", "fgsm@0/255", "noise@4/255", "fgsm@4/255")
    made: dict[str, Outcomes] = {
        label: dict.fromkeys(names, right(count)) for label, count in (("a", 10), ("b", 30))
    }
    runs = merge([write_run(tmp_path, made)])
    rows = results(runs)
    columns = tuple(Column(name, best="highest", metric="top1") for name in names)
    entries = rows["condition"].groupby(rows["label"]).indices
    table = replace(
        sheet([1, 2]),
        frame=pd.DataFrame([[25.0] * 4, [75.0] * 4], index=sheet([1, 2]).frame.index),
        columns=columns,
        entries=np.array([entries["a"], entries["b"]]),
    )
    marked = mark(table, "significant", runs)
    assert set(marked.marks) == {(1, 0), (1, 3)}
    assert "over all 2 tests" in marked.notes[-1]


@pytest.mark.slow
def test_other_images_are_not_tested(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / name, {name: {"clean": right(count)}}, images=images)
        for name, count, images in (("a", 5, None), ("b", 35, [f"x{n}" for n in range(40)]))
    ]
    runs = merge(folders)
    (made,) = preset_tables("featscale", runs, results(runs))
    marked = mark(made, "significant", runs)
    assert marked.marks == {}
    assert "all 0 tests" in marked.notes[-1]
    assert (
        "b and a are not tested against each other: they were scored on other" in marked.notes[-2]
    )


def test_significance_without_records_is_a_bug() -> None:
    with pytest.raises(ValueError, match="needs the records"):
        mark(sheet([1, 2]), "significant")


def test_numbers_without_records_are_not_marked_as_significant(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path, {"a": {"clean": [0]}})])
    made = sheet([1, 2])
    assert isinstance(runs, Runs)
    assert mark(made, "significant", runs).marks == {}
    with_entries = Table(
        made.name,
        made.title,
        made.frame,
        made.columns,
        made.about,
        entries=np.full((2, 1), -1, np.int64),
    )
    assert mark(with_entries, "significant", runs).marks == {}
