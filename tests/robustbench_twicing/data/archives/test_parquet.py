"""Parquet files as Hugging Face writes them."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from robustbench_twicing.data.archives import parquet_row
from robustbench_twicing.data.archives.opening import SOME_CLASSES
from robustbench_twicing.data.archives.parquet import list_rows
from robustbench_twicing.data.archives.parquet_row import ROWS, ParquetRow, leaf
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.data.stored import read
from robustbench_twicing.errors import UnreadableError, UserError
from tests.robustbench_twicing.data.archives.conftest import IMAGE, picture, write_parquet

PNG = picture("a.png")
CROP = Preprocessing(8, 10)


def rows(*paths: str | None) -> list[dict[str, object]]:
    return [{"bytes": PNG, "path": path} for path in paths]


def named(path: Path, names: list[str], labels: list[int]) -> Path:
    """A file whose metadata name its classes, as the library `datasets` writes them."""
    table = pa.table({"image": pa.array(rows(*map(str, labels)), IMAGE), "label": labels})
    feature = {"names": names, "_type": "ClassLabel"}
    facts = {"info": {"features": {"label": feature, "image": {"_type": "Image"}}}}
    pq.write_table(table.replace_schema_metadata({"huggingface": json.dumps(facts)}), path)
    return path


def test_names_of_classes_decide(tmp_path: Path) -> None:
    own = open_dataset(named(tmp_path / "own.parquet", ["cat", "dog"], [1, 0, 1]))
    assert (own.labels, own.num_classes) == ((1, 0, 1), 2)
    (tmp_path / "classes.txt").write_text("dog\ncat\n")
    turned = open_dataset(tmp_path / "own.parquet", classes=tmp_path / "classes.txt")
    assert turned.labels == (0, 1, 0)
    by_wnid = open_dataset(named(tmp_path / "w.parquet", ["n01443537", "n01440764"], [1, 0]))
    assert (by_wnid.labels, by_wnid.num_classes) == ((0, 1), 1000)
    usual = [SOME_CLASSES.get(number, "else") + ", Tinca tinca" for number in range(1000)]
    imagenet = open_dataset(named(tmp_path / "i.parquet", usual, [999, 0]))
    assert (imagenet.labels, imagenet.num_classes) == ((999, 0), 1000)
    usual[388], usual[389] = usual[389], usual[388]
    with pytest.raises(UserError, match="of which number 388 is else, Tinca tinca, and not giant"):
        open_dataset(named(tmp_path / "i.parquet", usual, [999, 0]))
    mixed = open_dataset(named(tmp_path / "m.parquet", ["goldfish", "n01440764", "x"], [0, 1, 2]))
    assert (mixed.labels, mixed.num_classes) == ((0, 1, 2), 3)


def test_labels_as_texts_and_numbers(tmp_path: Path) -> None:
    texts = write_parquet(tmp_path / "t.parquet", rows("a", "b"), label=["n01443537", "n01440764"])
    assert open_dataset(texts).labels == (1, 0)
    numbers = open_dataset(write_parquet(tmp_path / "n.parquet", rows("a", "b"), label=[7, 3]))
    assert (numbers.labels, numbers.num_classes) == ((7, 3), None)


def test_of_several_columns_of_labels_all_agree_or_are_refused(tmp_path: Path) -> None:
    """And no other takes the first one's place where that is of a type that says no class."""
    path, wnids = tmp_path / "a.parquet", ["n01443537", "n01440764"]
    write_parquet(path, rows("a", "b"), label=[1, 5], wnid=wnids)
    wrong = r"columns wnid and label may both .* contradict each other: b has class 0 by wnid and 5"
    with pytest.raises(UserError, match=wrong):
        open_dataset(path)
    for texts in (wnids, pa.array(wnids).dictionary_encode(), pa.array(wnids, pa.large_string())):
        columns: dict[str, Any] = {"label": texts, "class": [1, 0], "cls": ["goldfish", None]}
        write_parquet(path, rows("a", "b"), **columns)
        dataset = open_dataset(path)
        assert (dataset.labels, dataset.num_classes) == ((1, 0), 1000)
        assert dataset.labelling == "wnids in column label of Parquet files"
    write_parquet(path, rows("a", "b"), label=[0.5, 1.5], target=[5, 6])
    with pytest.raises(UserError, match="has no column of numbers or texts for labels"):
        open_dataset(path)


def test_names_of_ones_own_classes_say_which_column_is_the_label(tmp_path: Path) -> None:
    path, own = tmp_path / "a.parquet", tmp_path / "classes.txt"
    own.write_text("dog\ncat\n")
    wnids = ["n02123045", "n02084071"]
    for label in (["cat", "dog"], [1, 0]):
        write_parquet(path, rows("a", "b"), wnid=wnids, label=label)
        dataset = open_dataset(path, classes=own)
        assert (dataset.labels, dataset.num_classes) == ((1, 0), 2)
        assert dataset.labelling == "class indices in column label of Parquet files"
    write_parquet(path, rows("a", "b"), wnid=wnids, label=["cat", "dog"], target=[0, 1])
    with pytest.raises(UserError, match="columns label and target may both be the label"):
        open_dataset(path, classes=own)
    write_parquet(path, rows("a", "b"), wnid=wnids, label=["cat", "dog"])
    own.write_text("n02084071\nn02123045\n")
    assert open_dataset(path, classes=own).labelling == "wnids in column wnid of Parquet files"
    write_parquet(path, rows("a", "b"), wnid=["n02123045", None], label=["cat", "x"])
    with pytest.raises(UserError, match=r"an empty label is not a class of classes\.txt"):
        open_dataset(path, classes=own)
    with pytest.raises(UserError, match="an empty label is not a wnid or a class index"):
        open_dataset(path)


def test_columns_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table([[PNG], [1], [2]], ["jpg", "label", "label"]), path)
    with pytest.raises(UserError, match="has several columns called label"):
        open_dataset(path)
    pq.write_table(pa.table({"my.jpg": [PNG], "label": [2]}), path)
    dataset = open_dataset(path)
    assert (read(dataset.images.files[0]), dataset.labels) == (PNG, (2,))  # type: ignore[attr-defined]


def test_ids_are_the_images_names_or_their_numbers(tmp_path: Path) -> None:
    for names, ids in (
        (("x/a.png", "b.png"), ("x/a.png", "b.png")),
        (("a.png", "a.png"), ("000000", "000001")),
        ((None, "a.png"), ("000000", "000001")),
    ):
        path = write_parquet(tmp_path / "a.parquet", rows(*names), label=[0, 1])
        assert open_dataset(path).ids == ids


def test_a_plain_binary_column(tmp_path: Path) -> None:
    table = pa.table({"jpg": pa.array([PNG, PNG], pa.binary()), "cls": [4, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    dataset = open_dataset(tmp_path / "a.parquet")
    assert (dataset.ids, dataset.labels) == (("000000", "000001"), (4, 2))
    assert dataset.labelling == "class indices in column cls of Parquet files"


def test_rows_are_read_in_any_order_across_row_groups(tmp_path: Path) -> None:
    contents = [bytes([number]) * (number + 1) for number in range(50)]
    images = [{"bytes": content, "path": str(n)} for n, content in enumerate(contents)]
    path = write_parquet(tmp_path / "a.parquet", images, groups=20, label=[0] * 50)
    files = open_dataset(path).images.files  # type: ignore[attr-defined]
    order = [0, 1, 49, 2, 20, 19, 39, 38, 40, 21, 21, 5]
    assert [read(files[number]) for number in order] == [contents[number] for number in order]
    assert [file.size for file in files] == [len(content) for content in contents]


def test_no_row_is_taken_for_another_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [picture("a.png", seed) for seed in range(3 * ROWS)]
    images = [{"bytes": content, "path": None} for content in pictures]
    shard = list_rows(write_parquet(tmp_path / "a.parquet", images, groups=3 * ROWS)).shard
    last = ParquetRow("", shard, 3 * ROWS - 1, len(pictures[-1]))
    failures = iter([MemoryError()])

    def short(*asked: Any) -> Any:
        for failure in failures:
            raise failure
        return leaf(*asked)

    assert read(last._replace(row=0)) == pictures[0]
    monkeypatch.setattr(parquet_row, "leaf", short)
    with pytest.raises(MemoryError):
        read(last)
    assert read(last) == pictures[-1]


def test_columns_that_are_missing_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"], "label": [0]}), tmp_path / "t.parquet")
    with pytest.raises(UserError, match=r"no column of images .* but text, label"):
        open_dataset(tmp_path / "t.parquet")
    path = write_parquet(tmp_path / "n.parquet", rows("a.png"))
    with pytest.raises(
        UserError, match=r"no column of numbers or texts for labels .*; give --labels FILE with l"
    ):
        open_dataset(path)
    (tmp_path / "labels.txt").write_text("a.png n01443537\n")
    assert open_dataset(path, labels=tmp_path / "labels.txt").labels == (1,)
    assert open_dataset(path, needs_labels=False).labels == (0,)


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "a.parquet", [*rows("a"), {"bytes": None, "path": "/home/x.png"}], label=[0, 1]
    )
    with pytest.raises(UserError, match="1 of 2 rows without an image, perhaps only a path"):
        open_dataset(path)
    write_parquet(path, rows("/etc/a.png"), label=[0])
    with pytest.raises(UserError, match="a member with an absolute name"):
        open_dataset(path)
    write_parquet(path, rows("a"), label=[1000])
    (tmp_path / "classes.txt").write_text("\n".join(wnids()))
    with pytest.raises(UserError, match=r"label 1000 is not a class of classes\.txt"):
        open_dataset(path, classes=tmp_path / "classes.txt")
    write_parquet(path, rows("a"), label=["cat"])
    with pytest.raises(UserError, match="label 'cat' is not a wnid or a class index; --classes"):
        open_dataset(path)
    named(path, [f"class {number}" for number in range(1000)], [0])
    with pytest.raises(UserError, match="not tench as in ImageNet-1k's sorted order"):
        open_dataset(path)
    os.truncate(path, path.stat().st_size - 5)
    with pytest.raises(UserError, match="is no Parquet file, damaged or cut short"):
        open_dataset(path)


def test_parts_have_to_be_of_one_data_set(tmp_path: Path) -> None:
    write_parquet(tmp_path / "train-00000-of-00002.parquet", rows("a"), label=[0])
    write_parquet(tmp_path / "validation-00000-of-00001.parquet", rows("b"), label=[1])
    with pytest.raises(UserError, match=r"several data sets \(train, validation\); name one by a"):
        open_dataset(tmp_path)
    assert open_dataset(f"{tmp_path}/validation*.parquet").labels == (1,)
    write_parquet(tmp_path / "train-00001-of-00002.parquet", rows("b"), label=["n01440764"])
    assert len(open_dataset(f"{tmp_path}/train*.parquet")) == 2
    with pytest.raises(UserError, match=r"no file fits .*test\*"):
        open_dataset(f"{tmp_path}/test*.parquet")


def test_a_part_may_be_empty_and_all_of_them_may_not(tmp_path: Path) -> None:
    write_parquet(tmp_path / "test-0-of-2.parquet", rows("a"), label=[3])
    write_parquet(tmp_path / "test-1-of-2.parquet", [], label=pa.array([], pa.int64()))
    assert open_dataset(tmp_path).labels == (3,)
    with pytest.raises(UserError, match="holds no images"):
        open_dataset(tmp_path / "test-1-of-2.parquet")


def test_a_file_that_changes_ends_the_run(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", rows("a", "b"), label=[0, 1])
    dataset = open_dataset(path)
    dataset.pixels(0, CROP)
    write_parquet(path, rows("a", "c"), label=[0, 1])
    with pytest.raises(UnreadableError, match="was changed after it was opened"):
        dataset.pixels(1, CROP)
    path.unlink()
    with pytest.raises(UnreadableError, match="cannot be read"):
        dataset.pixels(1, CROP)


def test_rows_are_listed_with_their_sizes_and_read(tmp_path: Path) -> None:
    listed = list_rows(write_parquet(tmp_path / "a.parquet", rows("a", "b", "c"), label=[0, 1, 2]))
    assert listed.sizes == [len(PNG)] * 3
    renumbered = listed.shard.at._replace(inode=listed.shard.at.inode + 1)  # by a drive of FUSE
    assert read(ParquetRow("b", replace(listed.shard, at=renumbered), 1, len(PNG))) == PNG
