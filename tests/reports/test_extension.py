"""A table preset and a column of results.csv are one declaration each, wherever it stands."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from reports import COLUMNS, Runs, merge, results
from reports.page import write_page
from reports.tables.cells import CellSpec, fill
from reports.tables.presets import PRESETS, Choices, preset, preset_names
from reports.tables.table import Column, Table
from robustbench_twicing.cli.app import main
from robustbench_twicing.records.run_folder import RunFolder
from tests.reports.made import write_run

OUTCOMES = {"clean": [0, 0, 9, 9], "fgsm@4/255": [0, 9, 9, 9]}


@pytest.fixture(autouse=True)
def made_up() -> Iterator[None]:
    @preset("made_up_losses", on_page=True)
    def losses(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
        del choices
        robust = Column("robust", best="highest", metric="robust_top1")
        specs = [CellSpec(robust, "fgsm@4/255")]
        yield fill("made_up_losses", "What is left, percent", runs, rows, specs)

    COLUMNS["made_up_wrong"] = lambda row: row.counts.scored - row.counts.right
    yield
    del PRESETS["made_up_losses"], COLUMNS["made_up_wrong"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", {"a": OUTCOMES}).path


def test_a_made_up_preset_is_a_table_of_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder), "--preset", "made_up_losses", "--format", "csv"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert row.split(",")[header.split(",").index("robust")] == "25.0"


def test_it_is_named_in_help_and_in_messages(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--help"]) == 0
    assert "made_up_losses" in capsys.readouterr().out
    assert main(["report", str(folder), "--preset", "made_up_loses"]) == 1
    assert "made_up_losses" in preset_names()
    assert f"Known: {', '.join(preset_names())}, efficiency" in capsys.readouterr().err


@pytest.mark.slow
def test_it_is_on_the_page_where_it_says_so(folder: Path, tmp_path: Path) -> None:
    runs = merge([RunFolder.open(folder)])
    page = write_page(runs, results(runs), tmp_path / "page").read_text(encoding="utf-8")
    assert re.search(r'<figure class="rb-table" id="made_up_losses-val-pixel">', page)


def test_a_made_up_column_is_in_results_csv_and_in_free_tables(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder), "--format", "csv"]) == 0
    lines = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert [line[-1] for line in lines] == ["made_up_wrong", "2", "3"]
    assert main(["report", str(folder)]) == 0
    assert pd.read_csv(folder / "results.csv")["made_up_wrong"].tolist() == [2, 3]
    capsys.readouterr()
    free = [
        "--rows",
        "label",
        "--columns",
        "condition",
        "--values",
        "made_up_wrong",
        "--format",
        "csv",
    ]
    assert main(["report", str(folder), *free]) == 0
    header, row = (line.split(",") for line in capsys.readouterr().out.splitlines())
    assert [row[place] for place, name in enumerate(header) if "made_up_wrong" in name] == [
        "2",
        "3",
    ]


def test_names_of_presets_need_no_pandas() -> None:
    code = "import sys; from reports.tables.presets import preset_names; preset_names(); "
    code += "assert not {'pandas', 'torch', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "table1" in preset_names()
