"""Many small files become few, which hold the same records bit by bit."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from robustbench_twicing.records import compaction
from robustbench_twicing.records.compaction import compact, compact_around
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.parts import Records, write_parts
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import EARLIER_SCHEMAS, SCHEMA_VERSION
from tests.plain_manifest import plain_evaluation
from tests.robustbench_twicing.records.compaction.made import (
    ABOUT,
    PARTS,
    SIZE,
    check,
    go,
    manifest,
    names,
    written,
)
from tests.robustbench_twicing.records.test_run_folder import part


def test_a_complete_range_becomes_one_file(folder: RunFolder, wanted: Records) -> None:
    before = [folder.part(ABOUT, number) for number in range(PARTS)]
    go(folder)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)
    for number, old in enumerate(before):
        new = folder.part(ABOUT, number)
        assert new.table.equals(old.table)
        assert new[1:] == old[1:]
    stamp = [path.stat().st_mtime_ns for path in folder.parts_folder(ABOUT).glob("part*")]
    go(folder)
    assert [path.stat().st_mtime_ns for path in folder.parts_folder(ABOUT).glob("part*")] == stamp


def test_a_range_with_a_gap_and_a_short_one_stay(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", without=4)
    go(folder)
    assert len(names(folder)) == PARTS - 1
    few = plain_evaluation("a model", 8, {"pixel:clean": 8})
    short = RunFolder.create_or_continue(tmp_path / "short", manifest(few))
    for number in range(4):
        short.write_part(few, number, part(SIZE * number))
    compact(short, few, lambda: False)
    assert len(names(short)) == 4


def test_the_last_part_of_a_range_completes_it(tmp_path: Path, wanted: Records) -> None:
    folder = written(tmp_path / "run", without=4)
    with folder.owner(ABOUT) as owner:
        folder.write_part(ABOUT, 4, part(SIZE * 4))
        compact_around(folder, ABOUT, 4, owner)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)


def test_a_second_attempt_goes_before_the_larger_file(folder: RunFolder, tmp_path: Path) -> None:
    go(folder)
    again = part(SIZE * 3)
    table = again.table.set_column(
        again.table.column_names.index("rank"), "rank", pa.array([7, 7], pa.int32())
    )
    cost = {"pixel:clean": Cost(4, 2, 1.5)}
    folder.write_part(ABOUT, 3, again._replace(table=table, costs=cost))
    rank = [0] * PARTS * SIZE
    rank[6:8] = [7, 7]
    wanted = folder.records(ABOUT)
    assert wanted.frame["rank"].tolist() == rank
    assert wanted.costs["pixel:clean"] == Cost(PARTS * SIZE + 2, 2, PARTS * 0.5 + 1)
    assert [list(file.parts) for file in folder.files(ABOUT)] == [
        [0, 1, 2],
        [3],
        list(range(4, PARTS)),
    ]
    go(folder)
    assert names(folder) == ["part-000000-000005.parquet"]
    check(folder, wanted)


def test_numbers_that_are_none_and_earlier_columns_are_kept(folder: RunFolder) -> None:
    path = folder.part_path(ABOUT, 2)
    table = pq.read_table(path)
    loss = pa.array(np.array([np.nan, -0.0]))
    table = table.set_column(table.column_names.index("loss"), "loss", loss)
    pq.write_table(table.select(EARLIER_SCHEMAS[SCHEMA_VERSION].names), path)
    wanted = folder.records(ABOUT)
    go(folder)
    assert len(names(folder)) == 1
    check(folder, wanted)
    assert str(folder.part(ABOUT, 2).table["loss"].to_pylist()) == "[nan, -0.0]"


def test_what_is_not_read_back_as_it_was_does_not_count(
    folder: RunFolder,
    wanted: Records,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def wrong(path: Path, parts: list[object], belongs_to: str) -> None:
        write_parts(path, [*parts[:-1], part(0)], belongs_to)  # type: ignore[list-item]

    monkeypatch.setattr(compaction, "write_parts", wrong)
    go(folder)
    (line,) = caplog.messages
    assert line.startswith("parts 0 to 5 stay in small files: ")
    assert len(names(folder)) == PARTS
    check(folder, wanted)
