"""The table of times, from the file of the command efficiency."""

from pathlib import Path

import pytest

from reports.tables.efficiency import COLUMNS, efficiency_beside_published, efficiency_tables
from reports.tables.marks import mark
from robustbench_twicing.errors import UserError

ROWS = (
    "deit_tiny_patch16_224,20,19,22,1.2537,5.717,30.5,1,1,cpu (x)",
    "deit_tiny_twicing_patch16_224,22,21,23,1.3299,5.717,31.5,1,1,cpu (x)",
    "mine,10,9,11,0.5,2.5,20,1,1,cpu (x)",
)


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    return path


def test_numbers_and_ratios(tmp_path: Path) -> None:
    (sheet,) = efficiency_tables([write(tmp_path / "efficiency.csv", *ROWS)])
    assert [name for (name,) in sheet.row_names][2] == "mine"
    assert [sheet.cell(1, column) for column in range(7)] == [
        *("22.000", "21.000", "23.000", "1.330", "5.72", "31.5", "1.100"),
    ]
    assert mark(sheet, "best").marks[2, 0] == "best"
    assert efficiency_tables([tmp_path])[0].frame.equals(sheet.frame)


def test_devices_threads_and_batches_are_tables_of_their_own(tmp_path: Path) -> None:
    others = [ROWS[0].replace("cpu (x)", "cuda"), ROWS[0].replace(",1,1,", ",32,1,")]
    sheets = efficiency_tables([write(tmp_path / "e.csv", *ROWS, *others)])
    assert [sheet.name for sheet in sheets] == ["efficiency", "efficiency-2", "efficiency-3"]
    assert "cuda, 1 thread, batches of 1" in sheets[1].title
    assert "batches of 32" in sheets[2].title


def test_counts_beside_the_published_ones(tmp_path: Path) -> None:
    (sheet,) = efficiency_tables([write(tmp_path / "e.csv", *ROWS)])
    beside = efficiency_beside_published(sheet)
    assert beside is not None
    cells_found = {name: beside.cell(row, 3) for row, name in enumerate(beside.row_names)}
    plain, twicing = "deit_tiny_patch16_224", "deit_tiny_twicing_patch16_224"
    assert (
        cells_found[plain, "GMACs"]
        == cells_found[plain, "params (M)"]
        == cells_found[twicing, "GMACs"]
        == "agrees"
    )
    assert cells_found[plain, "ms / image median"] == "not judged"
    assert len(cells_found) == 6
    (other,) = efficiency_tables([write(tmp_path / "e.csv", ROWS[0].replace("1.2537", "1.2551"))])
    beside = efficiency_beside_published(other)
    assert beside is not None
    assert beside.cell(1, 3) == "differs"
    (mine,) = efficiency_tables([write(tmp_path / "e.csv", ROWS[2])])
    assert efficiency_beside_published(mine) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "cannot be read as a table"),
        ("label,x\na,1\n", "has no column ms_per_image_median; it is not of the command"),
        (",".join(COLUMNS) + "\na,fast,1,1,1,1,1,1,1,cpu\n", "not a number in column ms_per"),
        (",".join(COLUMNS) + "\n" + f"{ROWS[0]}\n" * 2, "is measured twice alike"),
    ],
)
def test_other_files_are_refused(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(content)
    with pytest.raises(UserError, match=words):
        efficiency_tables([tmp_path / "e.csv"])
    with pytest.raises(UserError, match=r"no efficiency\.csv at .*; make one with"):
        efficiency_tables([tmp_path / "nowhere"])


@pytest.mark.parametrize("number", ["x", "", "9" * 400, "1e999999x"])
def test_what_is_no_number_is_refused(number: str, tmp_path: Path) -> None:
    path = write(tmp_path / "efficiency.csv", f"mine,10,9,11,0.5,2.5,{number},1,1,cpu (x)")
    with pytest.raises(UserError, match="not a number in column peak_mib"):
        efficiency_tables([path])
