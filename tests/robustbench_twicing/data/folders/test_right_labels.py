"""JSON of all right labels of each image: recognised, refused in one line, joined by name."""

import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.data.dataset import limit_dataset
from robustbench_twicing.data.folders.class_list import OwnClasses
from robustbench_twicing.data.folders.right_labels import (
    IMAGES,
    Labels,
    hash_labels,
    parse_right_labels,
    read_right_labels,
)
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.archives.conftest import IMAGE, picture
from tests.robustbench_twicing.data.conftest import Tree
from tests.tiny import noise, several

FILE = Path("real.json")
NAMES = [f"ILSVRC2012_val_{number:08d}" for number in range(1, 5)]
RIGHT = [[7, 3], [], [5], [999, 0, 4]]
"""Of the four images."""
EVERY = json.dumps(RIGHT + [[1]] * (IMAGES - 4))


def test_a_list_is_of_the_validation_set_in_its_order() -> None:
    labels = parse_right_labels(EVERY, FILE)
    assert labels is not None
    assert len(labels) == IMAGES
    assert [(label.name, label.target) for label in labels[:4]] == [
        *zip(NAMES, [(3, 7), (), (5,), (0, 4, 999)], strict=True)
    ]
    assert labels[-1].name == "ILSVRC2012_val_00050000"


def test_an_object_names_its_images() -> None:
    own = OwnClasses({"cat": 0, "dog": 1}, "classes.txt", 2)
    labels = parse_right_labels('{"a.jpg": [1, 0], "x/b": []}', FILE, own)
    assert labels == ((1, "a.jpg", (0, 1), False), (2, "x/b", (), False))
    again = parse_right_labels('{"x/b": [], "a.jpg": [0, 1]}', FILE)
    assert again is not None
    assert hash_labels(again) == hash_labels(labels)
    assert hash_labels(again[:1]) != hash_labels(labels)


WRONG = {
    "[[1], [2]]": "real.json is a list of 2 entries, and one in the order of the validation set "
    "has 50,000; right are ImageNet's reassessed labels",
    "[]": "is a list of 0 entries",
    "{}": "names no image",
    '{"a": [1000]}': "the labels of 'a' are [1000], and not a list of class indices 0 to 999, each",
    '{"a": [-1]}': "the labels of 'a' are [-1]",
    '{"a": ["3"]}': "the labels of 'a' are ['3']",
    '{"a": "3"}': "the labels of 'a' are '3'",
    '{"a": 3}': "the labels of 'a' are 3",
    '{"a": null}': "the labels of 'a' are None",
    '{"a": [true]}': "the labels of 'a' are [True]",
    '{"a": [1.0]}': "the labels of 'a' are [1.0]",
    '{"a": [[1]]}': "the labels of 'a' are [[1]]",
    '{"a": {"b": [1]}}': "the labels of 'a' are ",
    '{"a": [3, 3]}': "the labels of 'a' are [3, 3]",
    '{"a": [1], "a": [2]}': "names 'a' twice; every image has one entry",
    '{"a": [1]': "is not JSON",
    "[" * 100_000: "is not JSON",
    EVERY.replace("[5]", "[5000]", 1): f"the labels of '{NAMES[2]}' are [5000]",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_mistakes_are_one_line(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_right_labels(text, FILE)
    assert WRONG[text] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_indices_are_those_of_ones_own_classes() -> None:
    own = OwnClasses({"cat": 0, "dog": 1}, "classes.txt", 2)
    with pytest.raises(UserError, match=r"are \[2\], and not a list of class indices 0 to 1"):
        parse_right_labels('{"a": [2]}', FILE, own)
    with pytest.raises(UserError, match=r"is ImageNet's; leave --classes out"):
        parse_right_labels(EVERY, FILE, own)


def test_lines_of_names_are_no_json(tmp_path: Path) -> None:
    for text in ("a.jpg 3\n", "[1].jpg 3\n", "{x}.jpg,3\n"):
        (tmp_path / "labels.txt").write_text(text)
        assert read_right_labels(tmp_path / "labels.txt") is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 1001) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


def read(text: str) -> Labels | str | None:
    """The labels, or the message."""
    try:
        return parse_right_labels(text, FILE)
    except UserError as error:
        return str(error)


@given(VALUES)
def test_any_json_is_read_or_refused_in_one_line(content: Any) -> None:
    labels = read(json.dumps(content))
    if isinstance(labels, str):
        assert "\n" not in labels
    elif labels is None:
        assert not isinstance(content, list | dict)
    else:
        assert {label.name: list(label.target) for label in labels} == {
            name: sorted(right) for name, right in content.items()
        }


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for content in (text, f"[{text}", f'{{"{text}'):
        assert "\n" not in str(read(content))


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The four images flat, by wnid, in a tar, as WebDataset and as Parquet; and the labels."""
    root = tmp_path_factory.mktemp("forms")
    pictures = {f"{name}.JPEG": picture(f"{name}.JPEG", at) for at, name in enumerate(NAMES)}
    for at, (name, content) in enumerate(pictures.items()):
        for path in (root / "val" / name, root / "sorted" / wnids()[at + 3] / name):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    beside = {f"{name}.cls": b"3" for name in NAMES}
    for file, members in (("val.tar", pictures), ("wds.tar", {**pictures, **beside})):
        with tarfile.open(root / file, "w") as tar:
            for name in sorted(members):
                info = tarfile.TarInfo(name)
                info.size = len(members[name])
                tar.addfile(info, io.BytesIO(members[name]))
    rows = [
        {"bytes": of, "path": f"{name[:-5]}_{wnids()[3]}.JPEG"} for name, of in pictures.items()
    ]
    table = {"image": pa.array(rows, IMAGE), "label": [3] * 4}
    pq.write_table(pa.table(table), root / "val.parquet")
    (root / "real.json").write_text(EVERY)
    (root / "own.json").write_text(json.dumps(dict(zip(NAMES, RIGHT, strict=True))))
    return {path.name: path for path in root.iterdir()}


@pytest.mark.parametrize("form", ["val", "sorted", "val.tar", "wds.tar", "val.parquet"])
def test_every_form_has_the_same_labels(form: str, forms: dict[str, Path]) -> None:
    data = open_dataset(forms[form], labels=forms["real.json"], labels_superset=True)
    assert [Path(name).name[:23] for name in data.ids] == [NAMES[0], *NAMES[2:]]
    assert data.several is not None
    assert data.several.of == ((3, 7), (5,), (0, 4, 999))
    assert (data.labels, data.num_classes) == ((3, 5, 0), 1000)
    assert data.flags == ("several-labels", "unlabelled-1-of-4")
    assert f"{IMAGES - 4:,} labels of it without an image, by request" in data.notes
    assert any("(2.00 an image, 3 at most)" in note for note in data.notes)
    replaced = "the labels of real.json replace those of folders named by wnid; of 3 images 1 have "
    assert any(note.startswith(replaced) for note in data.notes) == (form == "sorted")
    own = open_dataset(forms[form], labels=forms["own.json"])
    assert own.fingerprint == data.fingerprint
    if form == "val":
        with pytest.raises(UserError, match="49,996 labels without an image"):
            open_dataset(forms[form], labels=forms["real.json"])


def test_images_and_entries_have_counterparts(tree: Tree, tmp_path: Path) -> None:
    root, file = tree(["a.png", "b.png"]), tmp_path / "own.json"
    for content, wrong in (
        ({"a": [1]}, r"1 of 2 images without a label \(b\.png\)"),
        ({"a": [1], "b": [1], "c": []}, r"1 label without an image \(c\)"),
        ({"a": [1], "b": [1], "a.png": [2]}, r"'a\.png' is given the classes \(1,\) and \(2,\)"),
        ({"a": [], "b": []}, "has no label for any image of"),
    ):
        file.write_text(json.dumps(content))
        with pytest.raises(UserError, match=wrong):
            open_dataset(root, labels=file)


def test_arrays_have_no_names_to_be_matched(tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", np.zeros((2, 8, 8, 3), np.uint8))
    (tmp_path / "real.json").write_text(EVERY)
    with pytest.raises(UserError, match="are matched with images by name, and those of an array"):
        open_dataset(tmp_path / "images.npy", labels=tmp_path / "real.json")


def test_right_labels_go_with_their_images_and_are_in_the_fingerprint() -> None:
    right = [(0,), (1, 2), (0, 3), (4,)]
    data = several(noise(4), right)
    assert data.select([2, 1]).several == several(noise(2), [(0, 3), (1, 2)]).several
    limited = limit_dataset(data, 3)
    assert [limited.right(at) for at in range(3)] == [
        right[data.ids.index(name)] for name in limited.ids
    ]
    assert data.right_labels([1, 0]).tolist() == [[1, 2], [0, 0]]
    assert data.right_labels([0, 3]).tolist() == [[0], [4]]
    assert data.right_labels([]).shape == (0, 1)
    others = [several(noise(4), [(0,), (1, 2), (0, last), (4,)]) for last in (2, 3)]
    one = several(noise(4), [(0,), (1,), (0,), (4,)])
    prints = {data.fingerprint, *(other.fingerprint for other in (*others, one))}
    assert len(prints) == 3  # not the last of `others`, which is the same
    assert replace(one, several=None).fingerprint not in prints
