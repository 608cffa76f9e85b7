"""Labels beside the images of a tar archive."""

import json
from pathlib import Path

import pytest

from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.archives.conftest import member, picture, write_tar

JPG = picture("a.jpg")


def samples(path: Path, labels: dict[str, str], ending: str = ".cls") -> Path:
    return write_tar(
        path,
        [
            file
            for key, label in labels.items()
            for file in (member(f"{key}.jpg", JPG), member(f"{key}{ending}", label.encode()))
        ],
    )


@pytest.mark.parametrize(
    ("ending", "first", "second"),
    [
        (".cls", "0\n", "1"),
        (".cls", "n01440764", "n01443537"),
        (".json", '{"label": 0, "class_name": "n01440764"}', '{"label": 1, "class_name": "fish"}'),
        (".json", '{"cls": 0}', '{"cls": 1, "text": "a"}'),
    ],
)
def test_labels(ending: str, first: str, second: str, tmp_path: Path) -> None:
    dataset = open_dataset(samples(tmp_path / "a.tar", {"x": first, "y": second}, ending))
    assert (dataset.ids, dataset.labels) == (("x.jpg", "y.jpg"), (0, 1))
    assert dataset.num_classes == 1000
    assert dataset.skipped == ()
    assert dataset.labelling == f"WebDataset: {ending} files beside the images"


def test_archives_with_the_same_names_keep_them_apart(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for number in (0, 1):
        samples(tmp_path / "set" / f"val-{number}.tar", {"000": str(number)})
    dataset = open_dataset(tmp_path / "set")
    assert (dataset.ids, dataset.labels) == (("val-0/000.jpg", "val-1/000.jpg"), (0, 1))
    assert str(dataset.images.files[1]).endswith("set/val-1.tar/000.jpg")  # type: ignore[attr-defined]


def test_a_sample_has_its_label_from_its_own_archive(tmp_path: Path) -> None:
    """Also where images of one sample's name have different endings."""
    for number, ending in enumerate(("jpg", "png")):
        files = [member(f"000.{ending}", JPG), member("000.cls", str(number).encode())]
        write_tar(tmp_path / f"val-{number}.tar", files)
    dataset = open_dataset(tmp_path)
    assert (dataset.ids, dataset.labels) == (("val-0/000.jpg", "val-1/000.png"), (0, 1))


def test_the_number_of_an_archive_is_no_class(tmp_path: Path) -> None:
    for number in (0, 1):
        write_tar(tmp_path / f"{number}.tar", [member("000.jpg", JPG), member("000.txt", b"cat")])
    with pytest.raises(UserError, match=r"named neither by wnid \(n01440764\) nor by class index"):
        open_dataset(tmp_path)


def test_archives_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        samples(tmp_path / folder / "val.tar", {"000": "1"})
    with pytest.raises(UserError, match=r"stands for 2 archives called val that hold files of the"):
        open_dataset(f"{tmp_path}/*/val.tar")


def test_two_labels_of_one_sample_are_refused(tmp_path: Path) -> None:
    """All of ``val.01``, ``val.02`` are one sample, ``val``, to a reader of WebDataset."""
    with pytest.raises(UserError, match=r"val\.01\.cls and val\.02\.cls are labels of one sample"):
        open_dataset(samples(tmp_path / "a.tar", {"val.01": "1", "val.02": "2"}))


def test_labels_elsewhere_in_the_archive_are_none(tmp_path: Path) -> None:
    tar = write_tar(
        tmp_path / "a.tar",
        [
            *(member(f"val/n01440764/{name}.jpg", JPG) for name in "ab"),
            *(member(f"val/n01440764/{name}.cls", b"0") for name in "ab"),
            member("zzz/n01440764/a.cls", b"7"),
        ],
    )
    assert open_dataset(tar).labels == (0, 0)


def test_labels_that_contradict_folders_are_refused(tmp_path: Path) -> None:
    tar = samples(tmp_path / "a.tar", {"n01440764/a": "0", "n01443537/b": "7"})
    with pytest.raises(UserError, match=r"n01443537/b\.jpg lies in a folder of class 1, and i"):
        open_dataset(tar)


def test_other_files_of_a_sample_are_no_labels(tmp_path: Path) -> None:
    """Class folders stay labels where the JSON says nothing of a class."""
    tar = write_tar(
        tmp_path / "a.tar",
        [member("n01440764/a.jpg", JPG), member("n01440764/a.json", b'{"width": 3}')],
    )
    dataset = open_dataset(tar)
    assert (dataset.labels, dataset.skipped) == ((0,), ())
    assert dataset.labelling == "folders named by wnid"


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("", r"a\.tar/x\.cls gives no class \(nothing\)|gives no class \(\)"),
        ("cat", r"a\.tar/x\.cls gives no class \(cat\); right is a class index or a wnid"),
        ("1000", "labels have the class index 1000|counted from 1"),
    ],
)
def test_labels_that_are_none(label: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        open_dataset(samples(tmp_path / "a.tar", {"x": label}))


def test_contradictions_and_gaps_are_refused(tmp_path: Path) -> None:
    text = json.dumps({"label": 5, "wnid": "n01440764"})
    with pytest.raises(UserError, match=r"gives several classes \(5, n01440764\)"):
        open_dataset(samples(tmp_path / "a.tar", {"x": text}, ".json"))
    tar = write_tar(
        tmp_path / "b.tar", [member("x.jpg", JPG), member("y.jpg", JPG), member("x.cls", b"0")]
    )
    with pytest.raises(UserError, match=r"1 of 2 images have no \.cls file beside them \(y\.jpg\)"):
        open_dataset(tar)
    with pytest.raises(UserError, match=r"x\.json is not JSON"):
        open_dataset(samples(tmp_path / "c.tar", {"x": "{"}, ".json"))


def test_own_classes(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    tar = samples(tmp_path / "a.tar", {"x": "dog", "y": "0"})
    assert open_dataset(tar, classes=tmp_path / "classes.txt").labels == (1, 0)
