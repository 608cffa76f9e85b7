"""Records stay in their files: whatever these are called, and whatever happens to them."""

import gc
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports import merge, results
from reports.merging import database
from reports.merging.entry import Files
from reports.merging.runs import Runs
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.errors import UserError
from robustbench_twicing.records import compaction, locks
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import FIRST_SCHEMA, RECORD_SCHEMA
from tests.reports.made import Outcomes, entry, runs_of, write_run

OUTCOMES: Outcomes = {"clean": [0, 0, 1, 6], "pgd@1/255": [0, 3, 1, "error"]}


@pytest.mark.parametrize(
    "name", ["it's", "a*b?[c]", 'one "two"', "two\nlines", "tab\t", "100%", "{x}", "=1"]
)
def test_a_folder_may_have_any_name(name: str, tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path / name, {"a": OUTCOMES}, part_size=2)])
    assert results(runs)["top1"].tolist()[0] == 50
    assert runs.of(0)["rank"].tolist() == [0, 0, 1, 6]


def test_so_may_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "it's [*?]").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "it's [*?]"))
    runs = merge([write_run(tmp_path / "run", {"a": OUTCOMES})])
    assert runs.of(0)["rank"].tolist() == [0, 0, 1, 6]
    assert len(list((tmp_path / "it's [*?]").iterdir())) == 1
    del runs
    assert not list((tmp_path / "it's [*?]").iterdir())


def test_no_room_for_temporary_files_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(UserError, match=r"no temporary folder can be made: .*; set TMPDIR"):
        Runs()


@pytest.mark.parametrize(
    "spoil",
    [Path.unlink, lambda file: file.write_bytes(b"PAR1"), lambda file: file.write_bytes(b"")],
)
def test_parts_that_are_spoiled_after_the_check_are_one_line(
    spoil: Callable[[Path], object], tmp_path: Path
) -> None:
    folder = write_run(tmp_path, {"a": OUTCOMES}, part_size=2)
    runs = merge([folder])
    spoil(folder.part_path(folder.manifest.evaluations[0], 1))
    with pytest.raises(UserError, match="the records cannot be read: ") as raised:
        runs.of(0)
    assert "\n" not in str(raised.value)


def test_what_memory_and_disk_do_not_hold_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MEMORY", "20MB")
    runs = Runs()
    runs.query("SET max_temp_directory_size = '1MB'")
    sql = "SELECT count(*) FROM (SELECT DISTINCT hash(i) FROM range(20_000_000) AS t(i))"
    with pytest.raises(UserError, match=r"need more than 20MB of memory .*; set TMPDIR"):
        runs.query(sql)


def test_parts_of_both_versions_of_the_schema_lie_side_by_side(tmp_path: Path) -> None:
    """As where shards of one run are of two versions."""
    runs = merge([write_run(tmp_path, {"a": OUTCOMES}, part_size=2)])
    (source,) = runs.sources
    first, second = source.files[0].paths
    pq.write_table(pq.read_table(first).select(FIRST_SCHEMA.names), first)
    mixed = Runs(runs.entries, (source._replace(files=(Files((first,)), Files((second,)))),))
    records = mixed.records
    assert records.columns.tolist() == [*RECORD_SCHEMA.names, "entry"]
    pd.testing.assert_frame_equal(records, runs.records)


def test_entries_that_were_computed_stand_behind_the_others(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path, {"a": OUTCOMES})])
    worst = entry(clean(), n_images=4)
    table = pa.table(
        {"entry": [2] * 4, "index": range(4), "rank": [5, 0, 0, 0], "status": ["ok"] * 4}
    )
    for records in (
        table,
        """SELECT 2 AS entry, "index", if("index" = 0, 5, 0) AS rank, status FROM records
        WHERE entry = 0""",
    ):
        more = runs.with_entries([worst], records)
        assert more.entries == (*runs.entries, worst)
        assert more.of(2)["rank"].tolist() == [5, 0, 0, 0]
        assert set(more.of(2)["label"]) == {"m"}
        assert [counts.right for counts in more.counts] == [2, 1, 3]
        assert more.of(1)["rank"].tolist()[:3] == [0, 3, 1]
    assert len(runs.entries) == 2
    assert len(runs.records) == 8


def test_hashes_tell_which_image_has_which_value() -> None:
    """And not only that all images have all values together."""
    values = {"index": [0, 1], "image": ["x", "y"], "target": [3, 4], "pixels_sha256": ["p", "q"]}
    rows = pd.DataFrame(
        values | {"clean_prediction": [5, 6], "status": "ok", "rank": 0, "entry": 0}
    )
    swapped = ["image", "target", "pixels_sha256", "clean_prediction"]
    other = rows.assign(entry=1, **{name: rows[name].to_numpy()[::-1] for name in swapped})
    first, second = runs_of([entry(clean())] * 2, pd.concat([rows, other])).counts
    for name in ("answers", "images", "targets", "pixels"):
        assert getattr(first, name) != getattr(second, name)


def test_images_at_one_position_are_all_counted_and_have_no_bits() -> None:
    values = {"index": [3, 3, 10**9], "image": ["x", "y", "z"], "rank": [0, 9, 0]}
    rows = pd.DataFrame(values | {"status": "ok", "entry": 0})
    runs = runs_of([entry(clean())] * 2, pd.concat([rows, rows.assign(entry=1)[1:]]))
    assert [(of.scored, of.right, of.last_index) for of in runs.counts] == [
        (3, 2, 10**9),
        (2, 1, 10**9),
    ]
    assert runs.rights == {}


def test_bits_say_which_images_are_right() -> None:
    rows = pd.DataFrame({"index": [9, 11, 12], "rank": [0, 4, 9], "status": "ok", "entry": 0})
    assert runs_of([entry(clean())], rows).rights == {0: (1 << 9, (1 << 9) + (1 << 11))}


def test_losses_that_are_none_are_no_values() -> None:
    rows = {"loss": [float("nan"), 2.0, float("inf")], "clean_loss": [1.0, 1.0, 1.0]}
    table = pa.table(rows | {"entry": [0] * 3, "index": range(3), "status": ["ok"] * 3})
    table = table.append_column("clean_rank", [[0, 0, 0]]).append_column("rank", [[0, 0, 0]])
    (counts,) = Runs().with_entries([entry(clean())], table).counts
    assert (counts.loss_change, counts.lowest_loss) == (float("inf"), 1.0)
    assert counts.highest_loss == float("inf")


@pytest.mark.slow
def test_a_run_is_counted_as_pandas_counts_it(tmp_path: Path) -> None:
    names = ["clean", "pgd@1/255", "pgd@4/255", "fgsm@1/255"]
    outcomes = {
        label: {name: [(7 * n + 3 * k + n * n * k) % 9 for n in range(60)] for name in names}
        for k, label in enumerate("abc", 1)
    }
    folder: RunFolder = write_run(tmp_path, outcomes, part_size=7)
    runs = merge([folder])
    table = results(runs)
    parts = [folder.parts(each).table.to_pandas() for each in folder.manifest.evaluations]
    whole = pd.concat(parts).astype({"label": str, "condition": str})
    for row in table.itertuples():
        mine = whole[(whole["label"] == row.label) & (whole["condition"] == row.condition)]
        assert row.top1 == 100 * (mine["rank"] == 0).sum() / 60
        assert row.top5 == 100 * (mine["rank"] < 5).sum() / 60
        assert row.linf_255_max == 255 * mine["linf"].max()


def again(folder: RunFolder, one: Evaluation, part: int, cost: Cost) -> None:
    """Write other records of a part; the sum of the seconds depends on their order."""
    old = folder.part(one, part)
    loss = pa.array([cost.seconds] * len(old.table))
    table = old.table.set_column(old.table.column_names.index("loss"), "loss", loss)
    costs = dict.fromkeys(old.costs, cost)
    folder.write_part(one, part, PartRecords(table, costs, (f"flag-{3 * part % 7}",)))


def write_shard(path: Path, number: int, shards: int) -> RunFolder:
    """Some of ten parts of two models."""
    outcomes = {name: [(7 * n + n * n) % 9 for n in range(20)] for name in ("clean", "pgd@1/255")}
    shard = number + 1, shards
    folder: RunFolder = write_run(path, {"a": outcomes, "b": outcomes}, part_size=2, shard=shard)
    for one in folder.manifest.evaluations:
        for part in range(number, 10, shards):
            again(folder, one, part, cost=Cost(1, 0, 1 / (part + 3)))
    return folder


def join(folders: Iterable[RunFolder], shards: int) -> int:
    """How many files there are then."""
    for folder in folders:
        for one in folder.manifest.evaluations:
            compaction.compact(folder, one, lambda: False, shards)
    return sum(len([*folder.path.rglob("part-*")]) for folder in folders)


@pytest.mark.parametrize(("shards", "apart"), [(1, False), (3, True), (3, False)])
def test_small_files_that_became_one_are_the_same_records(
    shards: int, apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while they do, and where a part was computed again since.

    Shards have a folder each, or all are in one, the first of which became a file before.
    """
    monkeypatch.setattr(compaction, "FEW", 1)
    monkeypatch.setattr(locks, "PATIENCE", 0.0)

    def write(name: str) -> list[RunFolder]:
        folders = {}
        for number in range(shards):
            path = tmp_path / name / f"{number * apart}"
            folders[path] = write_shard(path, number, shards)
            if name == "joined" and number == 0 < shards - 1:
                assert join(folders.values(), shards) == 2
        return [*folders.values()]

    def same(runs: Runs) -> None:
        wanted = merge(plain)
        assert runs.records.equals(wanted.records)
        assert runs.of(1).equals(wanted.of(1))
        assert results(runs).equals(results(wanted))
        assert [(one.cost, one.flags) for one in runs.entries] == [
            (one.cost, one.flags) for one in wanted.entries
        ]

    plain, joined = write("plain"), write("joined")
    runs = merge(joined)
    assert join(joined, shards) > 2 * shards
    same(runs)  # by what it has listed
    same(merge(joined))
    del runs
    gc.collect()
    assert join(joined, shards) == 2 * shards
    same(merge(joined))
    gc.collect()
    for folders in (plain, joined):
        again(folders[0], folders[0].manifest.evaluations[0], 3, Cost(2, 1, 9.0))
    same(merge(joined))
