"""The tables of the page: marks explained once, nothing of what could not be, results in one."""

from pathlib import Path

import pytest

from reports import merge, results
from reports.page import write_page
from reports.page.sections.tables import MARKING, Tables, all_results, page_tables
from reports.tables.presets import Choices
from tests.reports.made import Outcomes, write_run
from tests.reports.page.read_page import Read

pytestmark = pytest.mark.slow

MANY = 40
RIGHT: Outcomes = {"clean": [0] * MANY, "pgd@1/255": [0] * MANY, "imagenet-c/fog/1": [0] * MANY}
WRONG: Outcomes = {name: [1] * MANY for name in RIGHT}


def tables(folder: Path, **models: Outcomes) -> Tables:
    runs = merge([write_run(folder / "run", models, part_size=MANY)])
    return page_tables(runs, results(runs), Choices())


def test_marks_are_explained_once_and_only_where_there_are_some(tmp_path: Path) -> None:
    marked = tables(tmp_path / "marked", A=RIGHT, B=WRONG)
    assert marked.marking == MARKING
    assert "over all the tests of its table" in MARKING
    assert any("<strong>100.00</strong>" in fold.table for fold in marked.shown)
    assert not any("Bold" in fold.table for fold in marked.shown)
    assert tables(tmp_path / "alike", A=RIGHT, B=RIGHT).marking == ""


def test_each_table_is_folded_under_its_title_and_the_first_is_open(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path / "run", {"A": RIGHT, "B": WRONG}, part_size=MANY)])
    page = Read(write_page(runs, results(runs), tmp_path))
    folds = [one for one in page.all("details") if one.attributes.get("class") == "fold"]
    titles = [fold.title for fold in page_tables(runs, results(runs), Choices()).shown]
    assert [("open" in fold.attributes) for fold in folds] == [True] + [False] * (len(titles) - 1)
    assert len(titles) > 2
    assert all(page.texts.count(title) >= 2 for title in titles), "in the summary and the caption"


def test_nothing_is_said_of_what_was_not_run_but_of_what_is_incomplete(tmp_path: Path) -> None:
    left_out = tables(tmp_path, A=RIGHT).left_out
    assert not any("was not run" in note for note in left_out)
    (note,) = (note for note in left_out if note.startswith("No mCE of A"))
    assert "incomplete" in note


def test_results_of_all_places_are_one_table(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / protocol, {"A": RIGHT}, part_size=MANY, protocol=protocol)
        for protocol in ("pixel", "paper")
    ]
    runs = merge(folders)
    table = results(runs)
    page = tmp_path / "page.html"
    page.write_text(all_results(runs, table), encoding="utf-8")
    read = Read(page)
    assert len(read.all("table")) == 1
    assert len(read.all("tr")) == 1 + len(table)
    names = [text.strip() for text in read.texts.split("\n") if text.strip()]
    place = names.index("model")
    assert names[place : place + 4] == ["model", "protocol", "condition", "top-1"]
