"""Joining labels and images: by path or name, with nothing left over."""

import pytest

from robustbench_twicing.data.folders.label_file import parse_labels
from robustbench_twicing.data.folders.labels_to_images import label_by_file
from robustbench_twicing.data.folders.scanning import scan
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.conftest import Tree


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (["a.png", "b.png"], "a.png 1\nb.png 2\n"),
        (["a.png", "b.png"], "b.png 2\na.png 1\na.png 1\n"),
        (["val/a.png", "val/b.png"], "a.png 1\nb.png 2\n"),
        (["val/a.png", "val/b.png"], "val/a.png 1\nval/b.png 2\n"),
        (["a.png", "b.png"], "./val/a.png 1\nimagenet/val/b.png 2\n"),
        (["val/a.png", "val/b.png"], "/data/imagenet/val/a.png 1\nval\\b.png 2\n"),
        (["a.png", "b.JPEG"], "a 1\nb 2\n"),
        (["a.png", "b.JPEG"], "a.JPEG 1\nb.jpg 2\n"),
        (["a.JPEG", "a.png"], "a.JPEG 1\na.png 2\n"),
        (["one/a.png", "two/a.png"], "one/a.png 1\ntwo/a.png 2\n"),
    ],
)
def test_names_find_their_images(names: list[str], lines: str, tree: Tree) -> None:
    labelled = label_by_file(scan(tree(names)), parse_labels(lines, "x"), "x")
    assert [image.id for image in labelled.images] == sorted(names)
    assert labelled.labels == (1, 2)
    assert labelled.num_classes == 1000


ERRORS = {
    "unlabelled": (
        ["a.png", "b.png", "c.png"],
        "b.png 1\n",
        "2 of 3 images without a label (a.png, c.png)",
    ),
    "no image": (
        ["a.png"],
        "a.png 1\nb.png 2\nc.png 3\n",
        "2 labels without an image (b.png, c.png)",
    ),
    "both": (["a.png"], "b.png 2\n", "(a.png) and 1 label without an image (b.png)"),
    "other split": (["val/a.png"], "train/a.png 1\n", "1 label without an image (train/a.png)"),
    "ambiguous": (
        ["one/a.png", "two/a.png"],
        "a.png 1\n",
        "x:1: 'a.png' may be any of one/a.png, two/a.png",
    ),
    "ambiguous ending": (["a.png", "a.JPEG"], "a 1\n", "x:1: 'a' may be any of a.JPEG, a.png"),
    "contradiction": (
        ["a.png"],
        "a.png 1\n./a.png 2\n",
        "x:2: './a.png' is given the classes 1 and 2",
    ),
    "from one": (
        ["a.png", "b.png"],
        "a.png 1\nb.png 1000\n",
        "x: labels are numbered 1 to 1000, as if counted from 1",
    ),
    "too high": (
        ["a.png", "b.png"],
        "a.png 0\nb.png 1000\n",
        "x: labels have the class index 1000",
    ),
    "negative": (["a.png", "b.png"], "a.png -1\nb.png 3\n", "x: labels have the class index -1"),
    "other folder": (
        ["n01443537/a.png"],
        "a.png 2\n",
        "'n01443537/a.png' class 2, but its folder n01443537 is class 1",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_leftovers_and_contradictions_are_refused(name: str, tree: Tree) -> None:
    names, lines, wrong = ERRORS[name]
    listing = scan(tree(names))
    with pytest.raises(UserError) as caught:
        label_by_file(listing, parse_labels(lines, "x"), "x")
    assert wrong in str(caught.value)
    assert "\n" not in str(caught.value)
