"""A folder's name decides its class; what cannot be sure is refused."""

import pytest

from robustbench_twicing.data.folders.class_folders import BY_NUMBER, label_by_folder, says_classes
from robustbench_twicing.data.folders.class_list import OwnClasses
from robustbench_twicing.data.folders.scanning import scan
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.conftest import Tree

CATS = OwnClasses({"cat": 1, "dog": 0}, "classes.txt", 2)


def test_wnids_decide_not_positions(tree: Tree) -> None:
    listing = scan(tree(["n02091244/a.png", "n01443537/b.png", "n15075141/c.png"]))
    labelled = label_by_folder(listing)
    ids = [image.id for image in labelled.images]
    assert ids == ["n01443537/b.png", "n02091244/a.png", "n15075141/c.png"]
    assert labelled.labels == (1, 173, 999)
    assert labelled.num_classes == 1000
    assert labelled.labelling == "folders named by wnid"


def test_numbers_are_numbers_not_text(tree: Tree) -> None:
    listing = scan(tree([f"{n}/a.png" for n in (10, 2, 100, 0, 999, 33)]))
    labelled = label_by_folder(listing)
    for image, label in zip(labelled.images, labelled.labels, strict=True):
        assert image.id == f"{label}/a.png"
    assert labelled.num_classes == 1000
    assert labelled.notes == (BY_NUMBER,)


def test_leading_zeros_are_fine(tree: Tree) -> None:
    assert label_by_folder(scan(tree(["007/a.png", "010/a.png"]))).labels == (7, 10)


def test_own_classes(tree: Tree) -> None:
    labelled = label_by_folder(scan(tree(["cat/a.png", "dog/b.png", "dog/c.png"])), CATS)
    assert labelled.labels == (1, 0, 0)
    assert labelled.num_classes == 2


def test_own_classes_win_over_wnids(tree: Tree) -> None:
    own = OwnClasses({"n01443537": 0}, "classes.txt", 1)
    assert label_by_folder(scan(tree(["n01443537/a.png"])), own).labels == (0,)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("val/n01443537/a.png", 1),
        ("n01443537/images/a.png", 1),
        ("n01443537/n02091244/a.png", 173),
        ("3/n01443537/7/a.png", 1),
    ],
)
def test_the_nearest_class_folder_above(name: str, label: int, tree: Tree) -> None:
    assert label_by_folder(scan(tree([name]))).labels == (label,)


def test_the_folder_itself_may_be_the_class(tree: Tree) -> None:
    root = tree(["n01443537/a.png", "n01443537/sub/b.png"])
    assert label_by_folder(scan(root / "n01443537")).labels == (1, 1)


def test_a_numbered_root_is_no_class(tree: Tree) -> None:
    root = tree(["3/a.png"])
    with pytest.raises(UserError, match="flat folder"):
        label_by_folder(scan(root / "3"))


def test_empty_class_folders_are_told(tree: Tree) -> None:
    labelled = label_by_folder(scan(tree(["n01443537/a.png", "n02091244/"])))
    assert labelled.notes == ("1 folder without images: n02091244",)


ERRORS = {
    "flat": (["a.png", "b.png"], "flat folder: 2 images and no class folders", "--labels FILE"),
    "ImageNet's": (["ILSVRC2012_val_00000001.JPEG"], "flat folder", "or ILSVRC2012_devkit_t12)"),
    "flat below": (["val/a.png"], "flat folder: 1 image in val/", "--labels FILE"),
    "words": (["cat/a.png", "dog/b.png"], "(cat, dog) are named neither by wnid", "--classes FILE"),
    "unknown wnid": (["n01443537/a.png", "n99999999/b.png"], "1 folder named by", "n99999999"),
    "loose": (["n01443537/a.png", "b.png"], "1 of 2 images lie outside", "b.png"),
    "other folder": (["n01443537/a.png", "new/b.png"], "1 of 2 images lie outside", "new/b.png"),
    "two splits": (
        ["train/n01443537/a.png", "val/n01443537/b.png"],
        "class n01443537 has two folders, train/n01443537 and val/n01443537",
        "give the folder whose images",
    ),
    "severities": (["fog/1/a.png", "snow/1/a.png"], "class 1 has two folders", "fog/1"),
    "twice": (["1/a.png", "01/b.png"], "folders 01 and 1 have the same number", "0 to 999"),
    "from one": (["1/a.png", "1000/b.png"], "numbered 1 to 1000, as if counted from 1", "wnids"),
    "too high": (["0/a.png", "1003/b.png"], "class index 1003", "--classes FILE"),
    "subset positions": ([f"{n}/a.png" for n in range(200)], "numbered 0 to 199", "by wnid"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ERRORS)
def test_refusals_name_the_folder_and_the_way_out(name: str, tree: Tree) -> None:
    files, wrong, right = ERRORS[name]
    root = tree(files)
    with pytest.raises(UserError) as caught:
        label_by_folder(scan(root))
    message = str(caught.value)
    assert str(root) in message
    assert wrong in message
    assert right in message
    assert "\n" not in message


def test_own_classes_leave_no_folder_out(tree: Tree) -> None:
    root = tree(["cat/a.png", "cow/b.png", "b.png"])
    with pytest.raises(UserError, match=r"2 of 3 images .* named in classes\.txt .*cow/b\.png"):
        label_by_folder(scan(root), CATS)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["n01443537/a.png"], True),
        (["n01443537/a.png", "b.png"], True),  # and is refused
        (["0/a.png", "999/b.png"], True),
        (["7/x/a.png", "7/b.png"], True),
        (["0/a.png", "1000/b.png"], False),
        (["2019/a.png", "2020/b.png"], False),
        (["0/a.png", "b.png"], False),
        ([f"{number}/a.png" for number in range(200)], False),
        (["cats/a.png"], False),
        (["a.png"], False),
    ],
)
def test_folders_that_name_classes_beyond_doubt(names: list[str], says: bool, tree: Tree) -> None:
    assert says_classes(scan(tree(names))) == says
