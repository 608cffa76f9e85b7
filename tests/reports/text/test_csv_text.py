"""A CSV reads back as it was, and is executed by nobody's spreadsheet."""

import io
from pathlib import Path

import pandas as pd
import pytest

from reports import merge, results
from reports.metrics.results import save_results
from reports.statistics.comparison import compare, save_comparison
from reports.tables.formats.as_text import as_csv
from reports.tables.presets import preset_tables
from reports.text.csv_text import csv_text, save_csv
from tests.reports.made import Outcomes, write_run

EVIL = ('=HYPERLINK("http://x")', "+1+1", "-1", "@SUM(A1)", "\t=1", "\r=1")
RANKS: Outcomes = {"clean": [0, 1, 0, 1], "pgd@1/255": [1, 1, 0, 0]}


@pytest.mark.parametrize("text", EVIL)
def test_what_a_spreadsheet_would_execute_is_text(text: str) -> None:
    frame = pd.DataFrame({text: [text, "a=b", None], "n": [-1.5, 2.0, float("nan")]})
    read_back = pd.read_csv(io.StringIO(csv_text(frame, index=True)), index_col=0)
    written = text.replace("\r", "\\r")
    assert read_back.columns.tolist() == [f"'{written}", "n"]
    assert read_back.iloc[:2, 0].tolist() == [f"'{written}", "a=b"]
    assert read_back["n"].tolist()[:2] == [-1.5, 2.0]


@pytest.mark.slow
def test_every_file_is_safe(tmp_path: Path) -> None:
    labels = dict.fromkeys(EVIL[:4], RANKS) | {"b": {name: [0] * 4 for name in RANKS}}
    run = write_run(tmp_path / "run", labels, images=["=1.png", "+2.png", "@3.png", "4.png"])
    runs = merge([run])
    table = results(runs)
    files = [
        save_results(table, tmp_path),
        *save_comparison(compare(runs, table, baseline="b"), tmp_path),
    ]
    texts = [path.read_text() for path in files] + [
        as_csv(sheet) for sheet in preset_tables("table1", runs, table)
    ]
    for text in texts:
        for line in text.splitlines()[1:]:
            for cell in line.replace('"', "").split(","):
                assert not cell.startswith(("=", "+", "@"))
        assert "'=HYPERLINK" in text
    assert "'=1.png" in texts[2]


def test_harmless_text_and_numbers_are_as_they_were(tmp_path: Path) -> None:
    frame = pd.DataFrame({"label": ["a-b", "模型", "'x"], "value": [0.1 + 0.2, 1e-300, -0.0]})
    path = save_csv(frame, tmp_path / "new" / "a.csv")
    read_back = pd.read_csv(path)
    pd.testing.assert_frame_equal(read_back, frame, check_exact=True, check_dtype=False)


def test_a_file_that_is_right_is_left_as_it_is(tmp_path: Path) -> None:
    path = save_csv(pd.DataFrame({"a": [1]}), tmp_path / "a.csv")
    before = path.stat()
    save_csv(pd.DataFrame({"a": [1]}), path)
    assert path.stat().st_ino == before.st_ino
    save_csv(pd.DataFrame({"a": [2]}), path)
    assert path.read_text() == "a\n2\n"
