"""Walking a folder: order, links, hidden and odd files."""

import os
from pathlib import Path

import pytest

from robustbench_twicing.data.folders.scanning import scan
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.conftest import Tree


def test_images_of_any_case_in_a_fixed_order(tree: Tree) -> None:
    listing = scan(tree(["b/z.png", "a/2.JPEG", "a/10.Jpg", "top.PNG", "a.b/x.bmp"]))
    ids = [image.id for image in listing.images]
    assert ids == ["a.b/x.bmp", "a/10.Jpg", "a/2.JPEG", "b/z.png", "top.PNG"]
    for image in listing.images:
        assert str(image) == str(listing.root / image.id)
        assert image.size == (listing.root / image.id).stat().st_size


def test_the_order_of_the_system_does_not_matter(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree([f"{folder}/{name}.png" for folder in "cab" for name in "312"])
    first = scan(root)
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: reversed(list(scandir(path))))
    assert scan(root) == first


def test_hidden_files_are_no_files(tree: Tree) -> None:
    root = tree(["a/x.png", "a/._x.png", ".cache/y.png", "__MACOSX/z.png", "a/Thumbs.db"])
    listing = scan(root)
    assert [image.id for image in listing.images] == ["a/x.png"]
    assert listing.others == ()


def test_what_is_no_image_is_listed_with_a_reason(tree: Tree) -> None:
    root = tree(["a/x.png", "a/y.heic", "a/README", "a/note.txt", "README.txt", "odd.xyz"])
    (root / "a" / "gone.png").symlink_to(root / "nowhere.png")
    os.mkfifo(root / "a" / "pipe.png")
    listing = scan(root)
    assert {file.id: file.reason for file in listing.skipped} == {
        "a/y.heic": "not an image by its ending (.heic)",
        "a/README": "a name without an ending",
        "a/note.txt": "not an image by its ending (.txt)",
        "a/gone.png": "a link to a file that is not there",
        "a/pipe.png": "not a regular file",
        "odd.xyz": "not an image by its ending (.xyz)",
    }
    assert "README.txt" in {item.id for item in listing.others}


def test_names_that_are_not_utf8_are_listed(tree: Tree) -> None:
    root = tree(["a/x.png"])
    with open(os.fsencode(root) + b"/a/\xff.png", "wb") as file:  # noqa: PTH123 - bytes path
        file.write(b"1")
    assert {file.id: file.reason for file in scan(root).skipped} == {
        "a/\\xff.png": "its name is not valid UTF-8"
    }


def test_links_are_followed_once(tree: Tree, tmp_path: Path) -> None:
    root = tree(["a/x.png"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / "a" / "x.png").rename(elsewhere / "x.png")
    (root / "a" / "x.png").symlink_to(elsewhere / "x.png")
    (root / "b").symlink_to(elsewhere)
    (root / "a" / "loop").symlink_to(root)
    listing = scan(root)
    assert [image.id for image in listing.images] == ["a/x.png", "b/x.png"]
    assert listing.images[0].size == (elsewhere / "x.png").stat().st_size
    (skipped,) = listing.skipped
    assert (skipped.id, skipped.reason) == ("a/loop", "a link to one of the folders it lies in")


def test_empty_folders_are_named(tree: Tree) -> None:
    root = tree(["a/x.png", "b/", "c/d/", "e/note.txt"])
    assert scan(root).empty == ("b", "c", "c/d", "e")


def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="gone cannot be read: No such file"):
        scan(tmp_path / "gone")


def test_folders_without_end_are_refused(tmp_path: Path) -> None:
    deep = tmp_path / "deep"
    (deep / "/".join("a" * 51)).mkdir(parents=True)
    with pytest.raises(UserError, match="is more than 50 folders deep; point at"):
        scan(deep)


def test_links_that_multiply_are_refused(tmp_path: Path) -> None:
    """Eight links to a folder of eight links to ...: 8 ** 8 folders."""
    for level in range(8):
        (tmp_path / "x" / f"{level}").mkdir(parents=True)
        for link in "abcdefgh":
            (tmp_path / "x" / f"{level}" / link).symlink_to(tmp_path / "x" / f"{level + 1}")
    (tmp_path / "x" / "8").mkdir()
    with pytest.raises(UserError, match="is reached by more than 20 links; point at the folder"):
        scan(tmp_path / "x" / "0")
