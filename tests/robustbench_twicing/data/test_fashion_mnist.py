"""Fashion-MNIST: the bundled cut is what it says, and the whole files are read strictly."""

import gzip
import hashlib
import os
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import robustbench_twicing.data.fashion_mnist as package
from robustbench_twicing.data.fashion_mnist.cut import main, write_cut
from robustbench_twicing.data.fashion_mnist.idx import FILES, read_split
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.resolve import resolve_model

CUT = Path(package.__file__).with_name("test1000.npz")
CUT_SHA256 = "9327b4e5ddad2cba0446e9ffcc0753c85e601aa4c0050e98f970a091a38f23c3"
WHOLE = Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))
"""Where Debian's package dataset-fashion-mnist puts the four files."""


def idx(array: NDArray[np.uint8]) -> bytes:
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def zeros(*shape: int) -> NDArray[np.uint8]:
    return np.zeros(shape, np.uint8)


def write_files(folder: Path, *, split: str = "test", per_class: int = 3) -> NDArray[np.uint8]:
    """Images whose first pixel is their position."""
    labels = np.tile(np.arange(10, dtype=np.uint8), per_class)
    images = np.zeros((len(labels), 28, 28), np.uint8)
    images[:, 0, 0] = np.arange(len(labels)) % 256
    for name, array in zip(FILES[split], (images, labels), strict=True):
        (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array), 1))
    return images


def test_the_cut_is_the_pinned_one_with_a_hundred_images_a_class() -> None:
    data = open_dataset("fashion-mnist:test1000")
    assert hashlib.sha256(CUT.read_bytes()).hexdigest() == CUT_SHA256
    assert Counter(data.labels) == dict.fromkeys(range(10), 100)
    assert data.name == "fashion-mnist:test1000"
    assert data.num_classes == 10
    assert list(data.ids) == sorted(data.ids)
    assert len(set(data.ids)) == 1000


def test_the_licence_comes_with_the_images() -> None:
    text = CUT.with_name("LICENSE.txt").read_text(encoding="utf-8")
    for words in ("The MIT License", "Zalando", "https://github.com/zalandoresearch/fashion-mnist"):
        assert words in text


@pytest.mark.skipif(not WHOLE.is_dir(), reason=f"needs Fashion-MNIST's files at {WHOLE}")
def test_the_cut_is_made_again_byte_for_byte_from_the_whole_files(tmp_path: Path) -> None:
    write_cut(WHOLE, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == CUT.read_bytes()
    whole, cut = open_dataset(f"fashion-mnist:{WHOLE}"), open_dataset("fashion-mnist:test1000")
    preprocessing = resolve_model("fmnist_deit").preprocessing
    for position in range(0, 1000, 97):
        same = whole.ids.index(cut.ids[position])
        assert whole.labels[same] == cut.labels[position]
        np.testing.assert_array_equal(
            whole.pixels(same, preprocessing), cut.pixels(position, preprocessing)
        )


def test_a_cut_takes_a_hundred_images_of_each_class_in_the_order_of_the_split(
    tmp_path: Path,
) -> None:
    images = write_files(tmp_path, per_class=120)
    assert main([str(tmp_path), str(tmp_path / "cut.npz")]) == 0
    with np.load(tmp_path / "cut.npz") as cut:
        assert Counter(cut["labels"].tolist()) == dict.fromkeys(range(10), 100)
        assert (np.diff(cut["positions"].astype(int)) > 0).all()
        np.testing.assert_array_equal(cut["images"], images[cut["positions"]])
        np.testing.assert_array_equal(cut["labels"], cut["positions"] % 10)
        left_out = sorted(set(range(1200)) - set(cut["positions"].tolist()))
        assert left_out != list(range(1000, 1200)), "not merely the first of each class"


def test_the_cut_s_command_needs_a_folder_with_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 1
    assert main([str(tmp_path), str(tmp_path / "cut.npz")]) == 1
    assert "holds no t10k-images-idx3-ubyte.gz" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("prefix", "split"), [("fashion-mnist", "test"), ("fashion-mnist-train", "train")]
)
def test_a_folder_is_opened_by_its_split(tmp_path: Path, prefix: str, split: str) -> None:
    images = write_files(tmp_path, split=split)
    data = open_dataset(f"{prefix}:{tmp_path}")
    assert data.name == f"fashion-mnist:{split}"
    assert data.ids[:2] == (f"{split}/00000", f"{split}/00001")
    assert data.labels[:11] == (*range(10), 0)
    assert data.images.picture(7).getpixel((0, 0)) == (7, 7, 7)
    assert images[7, 0, 0] == 7


def test_a_small_model_sees_the_pixels_as_they_are(tmp_path: Path) -> None:
    images = write_files(tmp_path)
    data = open_dataset(f"fashion-mnist:{tmp_path}")
    preprocessing = resolve_model("fmnist_twicing").preprocessing
    expected = np.repeat(images[5][..., np.newaxis], 3, axis=2)
    np.testing.assert_array_equal(data.pixels(5, preprocessing), expected)
    np.testing.assert_array_equal(preprocessing.pixels(data.images.picture(5)), expected)


def test_unpacked_files_are_read_too(tmp_path: Path) -> None:
    images = write_files(tmp_path)
    for name in FILES["test"]:
        packed = tmp_path / f"{name}.gz"
        (tmp_path / name).write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    np.testing.assert_array_equal(read_split(tmp_path, "test")[0], images)


@pytest.mark.parametrize(
    "spec", ["fashion-mnist:", "fashion-mnist:nowhere", "fashion-mnist-train:test1000"]
)
def test_a_name_without_a_folder_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match=r"names no folder; write fashion-mnist(-train)?:DIR"):
        open_dataset(spec)


def test_labels_of_one_s_own_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="fashion-mnist has labels of its own"):
        open_dataset("fashion-mnist:test1000", labels=tmp_path / "labels.csv")


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (b"", b"", "not an IDX file"),
        (b"\x00\x00\x08\x03\x00", b"", "not an IDX file"),
        (b"\x00\x00\x0d\x01" + bytes(8), b"", "not an IDX file"),
        (idx(zeros(2, 28, 28))[:-1], b"", "cut off"),
        (idx(zeros(2, 28, 28)), idx(zeros(3)), r"\(N, 28, 28\) and \(N,\)"),
        (idx(zeros(2, 32, 32)), idx(zeros(2)), r"\(N, 28, 28\)"),
        (idx(zeros(1, 28, 28)), idx(zeros(1) + 10), "labels must be 0 to 9"),
        (idx(zeros(0, 28, 28)), idx(zeros(0)), "labels must be 0 to 9"),
    ],
)
def test_damaged_files_are_refused_in_one_line(
    tmp_path: Path, images: bytes, labels: bytes, message: str
) -> None:
    for name, raw in zip(FILES["test"], (images, labels), strict=True):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(raw))
    with pytest.raises(UserError, match=message) as caught:
        read_split(tmp_path, "test")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_gzip_archive_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path)
    name = f"{FILES['test'][0]}.gz"
    for raw in (b"<html>", (tmp_path / name).read_bytes()[:-20]):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(UserError, match=f"{name} cannot be read"):
            read_split(tmp_path, "test")


def test_fashion_mnist_is_not_suspected_of_being_tiny_imagenet() -> None:
    from robustbench_twicing.data.summary import survey
    from robustbench_twicing.data.suspicions import suspicions

    data = open_dataset("fashion-mnist:test1000")
    assert suspicions(data, survey(data)) == ()
