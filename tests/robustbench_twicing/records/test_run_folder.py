"""A run folder: whole parts or none, and readers that refuse what they cannot trust."""

import json
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.printable import folder_name
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation, Manifest
from robustbench_twicing.records.parts import META, META_HASH, PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import FIRST_SCHEMA, RECORD_SCHEMA, Status
from tests.plain_manifest import plain_condition, plain_evaluation


def evaluation(label: str = "a model", images: int = 4) -> Evaluation:
    return plain_evaluation(label, images, {"pixel:clean": images})


def manifest(*labels: str, **changes: Any) -> Manifest:
    evaluations = tuple(evaluation(label) for label in labels or ("a model",))
    return Manifest(
        **{
            "evaluations": evaluations,
            "conditions": (plain_condition("clean"),),
            "seed": 0,
            "part_size": 2,
            **changes,
        }
    )


def part(first: int, count: int = 2, label: str = "a model") -> PartRecords:
    numbers = list(range(first, first + count))
    values: dict[str, list[Any]] = {name: [None] * count for name in RECORD_SCHEMA.names}
    values |= {
        "label": [label] * count,
        "dataset": ["data"] * count,
        "protocol": ["pixel"] * count,
        "condition": ["clean"] * count,
        "index": list(numbers),
        "image": [f"{number}.png" for number in numbers],
        "rank": [0] * count,
        "loss": [0.1 * number for number in numbers],
        "status": [Status.OK.value] * count,
    }
    rows = pa.table(values, schema=RECORD_SCHEMA)
    return PartRecords(rows, {"pixel:clean": Cost(count, 0, 0.5)}, ("batch-halved",) * (first > 0))


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A complete run of four images in two parts."""
    made = RunFolder.create_or_continue(tmp_path / "run", manifest())
    for number in (1, 0):
        made.write_part(evaluation(), number, part(2 * number))
    return made


def test_records_come_back_in_the_order_of_images_with_costs_and_flags(folder: RunFolder) -> None:
    records = RunFolder.open(folder.path).records(evaluation())
    assert records.frame["index"].tolist() == [0, 1, 2, 3]
    assert records.frame["loss"].tolist() == [0.0, 0.1, 0.2, 0.1 * 3]
    assert records.frame.columns.tolist() == RECORD_SCHEMA.names
    assert records.costs == {"pixel:clean": Cost(4, 0, 1.0)}
    assert records.flags == ("batch-halved",)


def test_a_folder_is_opened_with_the_manifest_it_was_made_with(folder: RunFolder) -> None:
    found = RunFolder.open(folder.path).manifest
    assert found == manifest()
    assert RunFolder.create_or_continue(folder.path, manifest()).complete


def test_parts_are_ranges_of_images(tmp_path: Path) -> None:
    made = RunFolder(tmp_path, manifest())
    counts = [made.part_count(evaluation(images=images)) for images in (0, 1, 2, 3, 4, 5)]
    assert counts == [0, 1, 1, 2, 2, 3]


def test_what_is_missing_is_listed(folder: RunFolder) -> None:
    assert folder.missing(evaluation()) == []
    folder.part_path(evaluation(), 0).unlink()
    assert folder.missing(evaluation()) == [0]
    assert not folder.complete
    assert folder.records(evaluation()).frame["index"].tolist() == [2, 3]


def test_a_run_without_parts_has_an_empty_record(tmp_path: Path) -> None:
    made = RunFolder.create_or_continue(tmp_path / "run", manifest())
    records = made.records(evaluation())
    assert len(records.frame) == 0
    assert records.frame.columns.tolist() == RECORD_SCHEMA.names
    assert records.costs == {}


def test_an_image_counted_twice_is_refused(folder: RunFolder) -> None:
    folder.write_part(evaluation(), 1, part(1))
    with pytest.raises(UserError, match=r"image 1\.png is counted twice under clean for a model"):
        folder.records(evaluation())


def test_a_cut_part_is_refused_with_what_to_do(folder: RunFolder) -> None:
    path = folder.part_path(evaluation(), 1)
    content = path.read_bytes()
    for length in (0, 3, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(
            UserError, match=r"part-000001\.parquet is damaged .*; run the same eval again"
        ):
            folder.records(evaluation())


@pytest.mark.slow
def test_a_flipped_bit_never_passes_for_other_numbers(folder: RunFolder) -> None:
    """Wherever a bit flips, the reader refuses the part or finds the same facts."""
    wanted = folder.records(evaluation())
    path = folder.part_path(evaluation(), 0)
    content = path.read_bytes()
    draw = random.Random(0)
    refused = 0
    for position in draw.sample(range(len(content)), 400):
        changed = bytearray(content)
        changed[position] ^= 1 << draw.randrange(8)
        path.write_bytes(bytes(changed))
        try:
            found = folder.records(evaluation())
        except UserError as error:
            message, refused = str(error), refused + 1
        else:
            message = "part-000000"
            assert found.frame.equals(wanted.frame), position
            assert (found.costs, found.flags) == (wanted.costs, wanted.flags), position
        assert "part-000000" in message
        assert len(message.splitlines()) == 1
    assert refused > 200


@pytest.mark.parametrize(
    ("schema", "advice"),
    [(3, "update robustbench-twicing"), (0, "evaluate again"), (None, "evaluate again")],
)
def test_another_schema_is_refused_in_parts_and_manifest(
    schema: int | None, advice: str, folder: RunFolder
) -> None:
    wanted = rf": schema {schema}, this version reads 1 and 2; {advice}"
    path = folder.part_path(evaluation(), 0)
    table = pq.read_table(path)
    meta = json.loads(table.schema.metadata[b"robustbench_twicing"]) | {"schema": schema}
    text = json.dumps(meta)
    both = {"robustbench_twicing": text, "robustbench_twicing.sha256": digest(text)}
    pq.write_table(table.replace_schema_metadata(both), path)
    with pytest.raises(UserError, match=r"part-000000\.parquet" + wanted):
        folder.records(evaluation())
    file = folder.path / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema": schema}))
    with pytest.raises(UserError, match=r"run\.json" + wanted):
        RunFolder.open(folder.path)


def as_first_version(folder: RunFolder) -> RunFolder:
    """The folder as version 1 wrote it: fewer columns, and no norm."""
    file = folder.path / "run.json"
    settings = json.loads(file.read_text()) | {"schema": 1}
    for condition in settings["conditions"]:
        del condition["threat"]["norm"]
    file.write_text(json.dumps(settings))
    first = RunFolder.open(folder.path)
    for one in first.manifest.evaluations:
        for part in range(first.part_count(one)):
            path = first.part_path(one, part)
            table = pq.read_table(path)
            meta = json.loads(table.schema.metadata[META]) | {"schema": 1}
            text = json.dumps(meta | {"belongs_to": first.belongs_to(one, range(part, part + 1))})
            both = {META: text, META_HASH: digest(text)}
            table = table.select(FIRST_SCHEMA.names).replace_schema_metadata(both)
            pq.write_table(table, path, write_page_checksum=True)
    return first


def test_version_1_is_read_and_not_continued(folder: RunFolder) -> None:
    wanted = folder.records(evaluation()).frame
    first = as_first_version(folder)
    assert first.manifest.conditions == folder.manifest.conditions
    records = first.records(evaluation()).frame
    assert records[FIRST_SCHEMA.names].equals(wanted[FIRST_SCHEMA.names])
    assert records[["l2", "l0", "radius", "goal", "witness"]].isna().all(axis=None)
    line = "earlier version.*; report reads it; to continue, use another --out$"
    with pytest.raises(UserError, match=line):
        RunFolder.create_or_continue(first.path, manifest())


def test_the_columns_of_version_1_are_not_those_of_version_2(folder: RunFolder) -> None:
    path = folder.part_path(evaluation(), 0)
    table = pq.read_table(path)
    pq.write_table(table.select(FIRST_SCHEMA.names), path)
    with pytest.raises(UserError, match="its columns are not those of a record"):
        folder.records(evaluation())


def test_a_parquet_file_of_someone_else_is_refused(folder: RunFolder) -> None:
    path = folder.part_path(evaluation(), 0)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(UserError, match=r"part-000000\.parquet is damaged \(it has no costs"):
        folder.records(evaluation())
    text = json.dumps({"schema": 1})
    both = {"robustbench_twicing": text, "robustbench_twicing.sha256": digest(text)}
    pq.write_table(pa.table({"x": [1]}, metadata=both), path)
    with pytest.raises(UserError, match=r"part-000000\.parquet is damaged"):
        folder.records(evaluation())


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "3", "null", '"x"', "{}", '{"schema": 1}', "\0"]
)
def test_a_damaged_manifest_is_refused(content: str, folder: RunFolder) -> None:
    (folder.path / "run.json").write_text(content)
    with pytest.raises(UserError, match=r"run\.json"):
        RunFolder.open(folder.path)


@pytest.mark.parametrize(
    "change", [{"evaluations": 3}, {"evaluations": [{"label": "a"}]}, {"x": 1}]
)
def test_a_manifest_with_other_fields_is_refused(change: dict[str, Any], folder: RunFolder) -> None:
    file = folder.path / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UserError, match=r"run\.json is not a manifest of this version"):
        RunFolder.open(folder.path)


def test_a_manifest_that_is_not_text_is_refused(folder: RunFolder) -> None:
    (folder.path / "run.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UserError, match=r"run\.json"):
        RunFolder.open(folder.path)


def test_a_folder_without_a_manifest_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not a run folder: it has no run\.json"):
        RunFolder.open(tmp_path)
    with pytest.raises(UserError, match="is not a run folder"):
        RunFolder.open(tmp_path / "nowhere")


def test_what_is_no_run_is_never_written_into(tmp_path: Path) -> None:
    file = tmp_path / "photo.png"
    file.write_text("")
    for out in (tmp_path, file):
        with pytest.raises(UserError, match="exists and is not a run folder; use another --out"):
            RunFolder.create_or_continue(out, manifest())
    assert [path.name for path in tmp_path.iterdir()] == ["photo.png"]


def test_a_folder_that_cannot_be_made_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/run cannot be made: .*; use another --out"):
        RunFolder.create_or_continue(tmp_path / "file" / "run", manifest())


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    assert RunFolder.create_or_continue(tmp_path, manifest()).path == tmp_path


def test_labels_of_one_run_have_parts_of_their_own(tmp_path: Path) -> None:
    made = RunFolder.create_or_continue(tmp_path / "run", manifest("a", "b"))
    made.write_part(evaluation("a"), 0, part(0, label="a"))
    assert made.missing(evaluation("a")) == [1]
    assert made.missing(evaluation("b")) == [0, 1]


@pytest.mark.slow
@given(st.text(max_size=100))
def test_any_label_is_a_folder_of_its_own_inside_the_run(label: str) -> None:
    name = folder_name(label)
    assert Path(name).name == name
    assert not name.startswith(".")
    assert len(name) <= 90
    assert name.isascii()


@pytest.mark.slow
@given(st.text(max_size=100))
def test_a_label_that_is_another_ones_folder_has_another_folder(label: str) -> None:
    name = folder_name(label)
    assert (folder_name(name) == name) == (label == name)


@pytest.mark.slow
@given(st.text("ab./ _\\", max_size=4), st.text("ab./ _\\", max_size=4))
def test_two_labels_never_share_a_folder(one: str, other: str) -> None:
    assert (folder_name(one) == folder_name(other)) == (one == other)


def test_a_label_that_is_a_good_name_is_kept() -> None:
    assert folder_name("deit_tiny_patch16_224") == "deit_tiny_patch16_224"
    assert folder_name("deit[10-12]").startswith("deit_10-12_-")


@pytest.mark.parametrize("name", ["label", "condition", "image", "status", "index"])
def test_a_record_of_nothing_is_refused(folder: RunFolder, name: str) -> None:
    path = folder.part_path(evaluation(), 0)
    table = pq.read_table(path)
    at = table.column_names.index(name)
    field = table.schema.field(name)
    empty = pa.nulls(len(table), pa.string()).cast(field.type)
    pq.write_table(table.set_column(at, field, empty), path)
    with pytest.raises(UserError, match=f"is damaged .it has records without {name}"):
        folder.records(evaluation())


@pytest.mark.parametrize("costs", [None, [], {"pixel:clean": {"seconds": 1}}, {"x": None}])
def test_costs_of_another_form_are_refused(folder: RunFolder, costs: Any) -> None:
    path = folder.part_path(evaluation(), 0)
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"robustbench_twicing"])
    about["costs"] = costs
    text = json.dumps(about)
    meta = {"robustbench_twicing": text, "robustbench_twicing.sha256": digest(text)}
    pq.write_table(table.replace_schema_metadata(meta), path)
    with pytest.raises(UserError, match="its costs and flags have another form"):
        folder.records(evaluation())


@pytest.mark.slow
def test_a_few_kilobytes_of_equal_records_are_not_unpacked(folder: RunFolder) -> None:
    path = folder.part_path(evaluation(), 0)
    zeros = pa.array([0]).take(pa.array([0] * 6_000_000, pa.int8()))
    pq.write_table(pa.table({"index": zeros}), path)
    assert path.stat().st_size < 50_000
    with pytest.raises(UserError, match="it declares 6,000,000 records"):
        folder.records(evaluation())
