"""Which file holds which part, and which holds none of the run."""

from pathlib import Path

import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.failures import quarantine_damaged_parts
from robustbench_twicing.records.parts import read_parts
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.records.compaction.made import ABOUT, PARTS, go, manifest


def test_a_damaged_file_is_set_aside_with_all_its_parts(folder: RunFolder) -> None:
    go(folder)
    (file,) = folder.files(ABOUT)
    content = file.path.read_bytes()
    file.path.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"part-000000-000005\.parquet is damaged"):
        folder.records(ABOUT)
    quarantine_damaged_parts(folder, ABOUT, [1, 3], [3])
    assert folder.missing(ABOUT) == []
    quarantine_damaged_parts(folder, ABOUT, [1, 3], [1])
    assert folder.missing(ABOUT) == list(range(PARTS))


def test_a_file_of_other_parts_is_refused(folder: RunFolder, tmp_path: Path) -> None:
    go(folder)
    (file,) = folder.files(ABOUT)
    file.path.rename(file.path.with_name("part-000000-000004.parquet"))
    with pytest.raises(UserError, match="belongs to another run, model, data set or range"):
        folder.records(ABOUT)
    records = read_parts(file.path.with_name("part-000000-000004.parquet"))
    assert len(records.metas) == PARTS


@pytest.mark.parametrize(
    "name",
    [
        "part-000006.parquet",
        "part-000000-000006.parquet",
        "part-000003-000002.parquet",
        "part-000003-000003.parquet",
        "part-0000000.parquet",
        "part-000000-0000005.parquet",
        "part-000000.parquet.damaged-1",
    ],
)
def test_names_that_no_file_of_the_run_has_are_none_of_its_parts(name: str, tmp_path: Path) -> None:
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest())
    folder.parts_folder(ABOUT).mkdir(parents=True)
    (folder.parts_folder(ABOUT) / name).write_text("")
    assert folder.files(ABOUT) == []
