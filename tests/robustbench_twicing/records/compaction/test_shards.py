"""Whatever shards a folder has seen: few files in the end, and every part once, the latest."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robustbench_twicing.records import compaction
from robustbench_twicing.records.compaction import compact
from robustbench_twicing.records.manifest import Evaluation, Manifest
from robustbench_twicing.records.part_files import file_name, parts_in
from robustbench_twicing.records.run_folder import RunFolder
from tests.plain_manifest import plain_condition, plain_evaluation
from tests.robustbench_twicing.records.compaction.made import FEW, SIZE, manifest, names, of_parts
from tests.robustbench_twicing.records.test_run_folder import part

LENGTH, COUNT = 3, 40
MANY = of_parts(COUNT)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parts of a file."""
    monkeypatch.setattr(compaction, "MOST_RECORDS", LENGTH * SIZE)


def write(folder: RunFolder, number: int, version: int = 0) -> None:
    content = part(SIZE * number)
    column = content.table.column_names.index("rank")
    table = content.table.set_column(column, "rank", pa.array([version] * SIZE, pa.int32()))
    folder.write_part(MANY, number, content._replace(table=table))


def versions(folder: RunFolder) -> dict[int, int]:
    frame = folder.records(MANY).frame
    assert frame["index"].is_monotonic_increasing
    assert frame["index"].is_unique
    assert (frame.groupby(frame["index"] // SIZE)["rank"].agg(["size", "nunique"]) == [2, 1]).all(
        axis=None
    )
    return dict(zip(frame["index"] // SIZE, frame["rank"], strict=True))


def go(folder: RunFolder, shards: int = 1) -> list[str]:
    compact(folder, MANY, lambda: False, shards)
    return names(folder)


def ranges(about: Evaluation, size: int, step: int, path: Path = Path()) -> list[range]:
    conditions = tuple(plain_condition(key.partition(":")[2]) for key in about.conditions)
    folder = RunFolder(path, Manifest((about,), conditions, 0, size))
    return [*compaction._Layout.of(folder, about).ranges(step)]


@pytest.mark.parametrize("shards", [1, 2, 8, 32])
@pytest.mark.parametrize(
    ("images", "size", "conditions", "most"),
    [
        (50_000, 128, 111, 22),
        (50_000, 256, 111, 22),
        (50_000, 32, 111, 25),
        (50_000, 32, 1, 25),
        (50_000, 1, 1, 32),
    ],
)
def test_a_finished_run_has_some_dozens_of_files(
    images: int,
    size: int,
    conditions: int,
    most: int,
    shards: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the folders of all shards together."""
    monkeypatch.setattr(compaction, "FEW", FEW)
    about = plain_evaluation("m", images, {f"pixel:c{i}": images for i in range(conditions)})
    made = ranges(about, size, shards)
    assert sorted(number for parts in made for number in parts) == [*range(-(-images // size))]
    assert all(parts.step == shards for parts in made)
    assert len(made) < most + shards
    assert max(map(len, made)) * size * conditions <= compaction.MOST_RECORDS


@given(st.integers(0, 9_999_999), st.integers(1, 1500), st.integers(1, 9_999_999))
@example(0, 1, 8)
@example(999_990, 2, 8)
def test_a_name_says_what_a_file_holds(first: int, count: int, step: int) -> None:
    parts = range(first, first + count * step, step)
    if parts[-1] < 10_000_000:
        assert parts_in(file_name(parts)) == parts
        assert file_name(parts_in(file_name(parts)) or range(0)) == file_name(parts)


def test_a_folder_of_a_shard_and_then_of_all(tmp_path: Path, short: None) -> None:
    """The rest follows what the shard began, where it did, and is of neighbours elsewhere."""
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest(MANY))
    for number in range(1, 16, 4):
        write(folder, number)
    assert go(folder, 4) == ["part-000001-000009-by-4.parquet", "part-000013.parquet"]
    for number in folder.missing(MANY):
        write(folder, number)
    assert go(folder) == sorted(
        [f"part-{first:06d}-{first + 8:06d}-by-4.parquet" for first in range(4)]
        + [f"part-{first:06d}-{first + 2:06d}.parquet" for first in range(12, 39, 3)]
        + ["part-000039.parquet"]
    )
    assert versions(folder) == dict.fromkeys(range(COUNT), 0)


def test_two_shards_in_one_folder(tmp_path: Path, short: None) -> None:
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest(MANY))
    for shard in (2, 5):
        for number in range(shard - 1, COUNT, 8):
            write(folder, number)
        assert len(go(folder, 8)) == (2 if shard == 2 else 4)
    assert versions(folder) == dict.fromkeys([*range(1, COUNT, 8), *range(4, COUNT, 8)], 0)


def test_records_of_before_do_not_come_back(tmp_path: Path, short: None) -> None:
    """All parts of a file are tried again, and become files with others that it does not have."""
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest(MANY))
    for number in range(0, 9, 4):
        write(folder, number)
    assert go(folder, 4) == ["part-000000-000008-by-4.parquet"]
    for number in range(12):
        write(folder, number, 1)
    with only(0):
        go(folder)
    assert set(versions(folder).values()) == {1}
    go(folder)
    assert set(versions(folder).values()) == {1}
    assert len(names(folder)) == 4


@pytest.mark.parametrize(("length", "again", "files"), [(3, {1}, 1), (4, {4, 5, 6, 7}, 6)])
def test_ranges_of_another_version_are_longer(
    length: int, again: set[int], files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is older goes first, however far that comes, or keeps other files from its parts."""
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest(MANY))
    monkeypatch.setattr(compaction, "MOST_RECORDS", length * SIZE)
    for number in range(2 * length):
        write(folder, number)
    assert len(go(folder)) == 2
    for number in again:
        write(folder, number, 1)
    monkeypatch.setattr(compaction, "MOST_RECORDS", 6 * SIZE)
    for removals in (1, 1, 99):
        with only(removals):
            go(folder)
        assert versions(folder) == {number: int(number in again) for number in range(2 * length)}
    assert len(names(folder)) == files


@contextmanager
def only(removals: int) -> Iterator[None]:
    """Inside, only so many files of one range can be removed."""

    def unlink(path: Path, missing_ok: bool = False) -> None:
        nonlocal removals
        if removals == 0 and not path.name.startswith("."):
            raise PermissionError(1, "Operation not permitted")
        removals -= not path.name.startswith(".")
        original(path, missing_ok=missing_ok)

    original = Path.unlink
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        yield


def steps() -> st.SearchStrategy[tuple[list[int], int, int]]:
    """Parts that one process writes, of how many shards it knows, and how many files it removes."""
    some = st.builds(
        lambda first, step, most: list(range(first, COUNT, step))[:most],
        *(st.integers(0, 7), st.integers(1, 8), st.integers(1, COUNT)),
    )
    return st.tuples(some, st.sampled_from([1, 2, 3, 5, 8, 100]), st.sampled_from([0, 1, 2, 99]))


@settings(max_examples=5, deadline=None)
@given(st.lists(steps(), min_size=1, max_size=5))
@example([([*range(0, 9, 4)], 4, 99), ([*range(12)], 1, 1), ([*range(12)], 5, 0)])
@example([([7, 15, 23], 8, 99), ([0, 1, 2], 1, 99)])
def test_any_shards_one_after_the_other(work: list[tuple[list[int], int, int]]) -> None:
    """Parts that are there are written again, as where they had error rows.

    When all are there, every file but those of a single part is as large as it may be, and the
    records of each part are the latest.
    """
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "MOST_RECORDS", LENGTH * SIZE)
        folder = RunFolder.create_or_continue(Path(place) / "run", manifest(MANY))
        wanted = dict[int, int]()
        for version, (numbers, shards, removals) in enumerate(work):
            for number in numbers:
                write(folder, number, version)
                wanted[number] = version
            assert versions(folder) == wanted
            with only(removals):
                go(folder, shards)
            assert versions(folder) == wanted
        for number in folder.missing(MANY):
            write(folder, number, 9)
            wanted[number] = 9
        held = [parts_in(name) or range(0) for name in go(folder)]
        assert versions(folder) == wanted
        assert sorted(number for parts in held for number in parts) == [*range(COUNT)]
        made = {step: ranges(MANY, SIZE, step) for step in {parts.step for parts in held} | {1}}
        assert all(any(parts in of for of in made.values()) for parts in held)
