"""The one door: what each kind of source gives, and what each mistake is told."""

import errno
import hashlib
import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robustbench_twicing.data import samples as samples_module
from robustbench_twicing.data.dataset import Skipped
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.conftest import Tree

SMALL = Preprocessing(4, 6)
FOLDER = ["n01443537/b.png", "n01440764/a.png", "n01443537/c.JPEG", "n01443537/d.heic", "README.md"]


def test_a_folder(tree: Tree) -> None:
    root = tree(FOLDER)
    dataset = open_dataset(root)
    assert dataset.name == "set"
    assert dataset.source == "files"
    assert dataset.ids == ("n01440764/a.png", "n01443537/b.png", "n01443537/c.JPEG")
    assert dataset.labels == (0, 1, 1)
    assert len(dataset) == 3
    assert dataset.num_classes == 1000
    assert dataset.skipped == (Skipped("n01443537/d.heic", "not an image by its ending (.heic)"),)
    assert (dataset.notes, dataset.flags) == ((), ())
    assert dataset.pixels(1, SMALL)[0, 0].tolist() == [0, 100, 200]
    assert dataset.pixels(0, SMALL)[0, 0].tolist() == [1, 100, 200]


def test_paths_as_people_write_them(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(FOLDER)
    (root.parent / "link").symlink_to(root)
    monkeypatch.setenv("HOME", str(root.parent))
    monkeypatch.chdir(root)
    ids = open_dataset(root).ids
    written = (".", f"{root}/", "../set", "~/set", str(root / "n01443537" / ".."))
    for text in written:
        assert open_dataset(text).ids == ids
        assert open_dataset(text).name == "set"
    assert open_dataset(root.parent / "link").name == "link"


def test_a_label_file_beside_the_images_is_not_skipped(tree: Tree) -> None:
    root = tree(["val/a.png", "val/b.txt"])
    (root / "val" / "b.txt").write_text("a.png n01443537\n")
    dataset = open_dataset(root, labels=root / "val" / "b.txt")
    assert (dataset.labels, dataset.skipped) == ((1,), ())
    assert dataset.labelling == "label file b.txt"


def test_own_classes_with_a_label_file(tree: Tree) -> None:
    root = tree(["a.png", "b.png"])
    (root / "labels.csv").write_text("file,class\na.png,dog\nb.png,cat\n")
    (root / "classes.txt").write_text("cat\ndog\n")
    dataset = open_dataset(root, labels=root / "labels.csv", classes=root / "classes.txt")
    assert (dataset.labels, dataset.num_classes) == ((1, 0), 2)


def test_the_fingerprint_covers_ids_labels_sizes_and_the_choice(tree: Tree) -> None:
    root = tree(FOLDER)
    first = open_dataset(root).fingerprint
    assert first == open_dataset(root).fingerprint
    assert len(first) == 64
    assert open_dataset(root, limit=2).fingerprint != first
    (root / "README.md").unlink()
    assert open_dataset(root).fingerprint == first
    with (root / "n01440764" / "a.png").open("ab") as file:
        file.write(b"\0")
    second = open_dataset(root).fingerprint
    assert second != first
    (root / "n01440764" / "a.png").rename(root / "n01440764" / "z.png")
    third = open_dataset(root).fingerprint
    assert third != second
    (root / "n01440764").rename(root / "n01484850")
    assert open_dataset(root).fingerprint != third


def test_the_fingerprint_is_pinned(tree: Tree) -> None:
    root = tree(["7/a.txt"])
    (root / "7" / "a.png").write_bytes(b"123")
    expected = hashlib.sha256(b'["7/a.png", 7, "3"]\n').hexdigest()
    assert open_dataset(root).fingerprint == expected


def test_a_dataset_can_be_sent_to_a_worker(tree: Tree) -> None:
    dataset = open_dataset(tree(FOLDER), limit=2)
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.fingerprint == dataset.fingerprint
    np.testing.assert_array_equal(copy.pixels(1, SMALL), dataset.pixels(1, SMALL))


def test_samples() -> None:
    dataset = open_dataset("samples:imagenet")
    assert dataset.name == "samples:imagenet"
    assert len(dataset) == 20
    assert dataset.ids[0] == "imagenet_00_243.jpg"
    assert dataset.labels[:4] == (243, 559, 438, 990)
    assert dataset.num_classes == 1000
    pixels = dataset.pixels(10, Preprocessing(224, 256))
    assert pixels.shape == (224, 224, 3)
    assert pixels.std() > 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_sample_labels_are_foolboxs() -> None:
    from foolbox.types import Bounds
    from foolbox.utils import _samples

    _, labels = _samples("imagenet", 0, 20, (8, 8), "channels_first", Bounds(0, 1))
    assert open_dataset("samples:imagenet").labels == tuple(labels)


def test_samples_without_foolbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(samples_module, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="needs the package foolbox"):
        open_dataset("samples:imagenet")
    spec = importlib.util.spec_from_file_location(
        "foolbox", tmp_path / "__init__.py", submodule_search_locations=[str(tmp_path)]
    )
    monkeypatch.setattr(samples_module, "find_spec", lambda name: spec)
    with pytest.raises(UserError, match="holds 0 of foolbox's 20 photographs"):
        open_dataset("samples:imagenet")


def test_opening_imports_neither_torch_nor_foolbox() -> None:
    code = (
        "import sys; from robustbench_twicing.data.opening import open_dataset; "
        "open_dataset('samples:imagenet').fingerprint; "
        "print({'torch', 'foolbox', 'torchvision'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def a_file(root: Path, name: str) -> Path:
    (root / name).write_bytes(b"rest")
    return root / name


MISTAKES: dict[str, tuple[Callable[[Path], Path | str], str, str]] = {
    "missing": (lambda root: root / "gone", "no data at", "a folder of images"),
    "no images": (lambda root: root / "texts", "holds no images (.avif", "seen: a.heic, note.txt"),
    "archive": (lambda root: a_file(root, "val.tar"), "is no tar archive", "download it again"),
    "picture": (lambda root: root / FOLDER[0], "is a single file", "a folder of images"),
    "other samples": (lambda root: "samples:cifar", "no samples are called", "samples:imagenet"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str, tree: Tree) -> None:
    source, wrong, right = MISTAKES[name]
    root = tree([*FOLDER, "texts/note.txt", "texts/a.heic"])
    spec = source(root)
    with pytest.raises(UserError) as caught:
        open_dataset(spec)
    for part in (os.fspath(spec), wrong, right):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_samples_take_no_labels(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has labels of its own"):
        open_dataset("samples:imagenet", labels=tmp_path / "labels.csv")


def test_a_folder_without_permission(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "n01443537":
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    root = tree(FOLDER)
    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UserError, match="n01443537 cannot be read: Permission denied"):
        open_dataset(root)
