"""Arrays: every layout gives the same pixels; what is not plain uint8 is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 12, 16, 3), dtype=np.uint8)
SQUARE = np.ascontiguousarray(IMAGES[:, :, :12])
LABELS = np.array([3, 0, 1, 3, 2])
SMALL = Preprocessing(12, 14)


def npz(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "set.npz", **arrays)
    return folder / "set.npz"


def npy(folder: Path, images: Any, labels: Any) -> Path:
    np.save(folder / "images.npy", images)
    np.save(folder / "labels.npy", labels)
    return folder / "images.npy"


@pytest.mark.parametrize(("images", "labels"), [("images", "labels"), ("x", "y"), ("x_test", "y")])
def test_npz(images: str, labels: str, tmp_path: Path) -> None:
    dataset = open_dataset(npz(tmp_path, **{images: SQUARE, labels: LABELS}))
    assert dataset.name == "set.npz"
    assert dataset.ids == ("000000", "000001", "000002", "000003", "000004")
    assert dataset.labels == (3, 0, 1, 3, 2)
    assert dataset.num_classes is None
    assert "12 x 12 pixels" in dataset.notes[0]
    np.testing.assert_array_equal(dataset.pixels(1, SMALL), SQUARE[1])


def test_a_pair_of_npy_and_a_folder_of_them(tmp_path: Path) -> None:
    path = npy(tmp_path, SQUARE, LABELS[:, None].astype(np.int32))
    (tmp_path / "classes.txt").write_text("a\nb\nc\nd\n")
    pair = open_dataset(path, labels=tmp_path / "labels.npy", classes=tmp_path / "classes.txt")
    folder = open_dataset(tmp_path, classes=tmp_path / "classes.txt")
    assert folder.name == tmp_path.name
    for dataset in (pair, folder):
        assert dataset.labels == (3, 0, 1, 3, 2)
        assert dataset.num_classes == 4
        np.testing.assert_array_equal(dataset.pixels(4, SMALL), SQUARE[4])


LAYOUTS = {
    "NHWC": SQUARE,
    "NCHW": SQUARE.transpose(0, 3, 1, 2),
    "NHW1": SQUARE[..., :1],
    "NHW": SQUARE[..., 0],
    "N1HW": SQUARE[:, None, ..., 0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, tmp_path: Path) -> None:
    array = LAYOUTS[layout]
    dataset = open_dataset(npz(tmp_path, images=array, labels=LABELS))
    grey = 1 in array.shape or array.ndim == 3
    expected = np.repeat(SQUARE[2][..., :1], 3, axis=2) if grey else SQUARE[2]
    pixels = dataset.pixels(2, SMALL)
    np.testing.assert_array_equal(pixels, expected)
    pixels[:] = 0
    np.testing.assert_array_equal(dataset.pixels(2, SMALL), expected)


def test_other_sizes_go_the_way_of_photographs(tmp_path: Path) -> None:
    dataset = open_dataset(npz(tmp_path, images=IMAGES, labels=LABELS))
    np.testing.assert_array_equal(
        dataset.pixels(3, SMALL), SMALL.pixels(Image.fromarray(IMAGES[3]))
    )


def test_the_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    first = open_dataset(npz(tmp_path, images=SQUARE, labels=LABELS)).fingerprint
    pair = open_dataset(npy(tmp_path, SQUARE, LABELS), labels=tmp_path / "labels.npy")
    assert pair.fingerprint == first
    changed = SQUARE.copy()
    changed[4, 3, 3, 0] ^= 1
    assert open_dataset(npz(tmp_path, images=changed, labels=LABELS)).fingerprint != first
    assert open_dataset(npz(tmp_path, images=SQUARE, labels=LABELS[::-1])).fingerprint != first


def test_limit_keeps_pixels_and_labels_together(tmp_path: Path) -> None:
    dataset = open_dataset(npz(tmp_path, images=SQUARE, labels=LABELS), limit=3)
    twice = dataset.select([2, 0])
    assert twice.ids == (dataset.ids[2], dataset.ids[0])
    for part in (dataset, twice):
        for index, name in enumerate(part.ids):
            assert part.labels[index] == LABELS[int(name)]
            np.testing.assert_array_equal(part.pixels(index, SMALL), SQUARE[int(name)])


class Pickled:
    """Unpickling this would leave a mark."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Path.touch, (Path("unpickled"),)  # type: ignore[return-value]


OBJECTS = np.array([Pickled()], dtype=object)
ODD = np.zeros((5, 8, 8, 4), np.uint8)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "float images": ({"images": SQUARE / 255, "labels": LABELS}, "images of float64"),
    "wrong rank": ({"images": SQUARE[0, 0], "labels": LABELS}, "shape (12, 3)"),
    "four channels": ({"images": ODD, "labels": LABELS}, "shape (5, 8, 8, 4)"),
    "ambiguous": ({"images": ODD[:, :3, :, :3], "labels": LABELS}, "may be NCHW or NHWC"),
    "no images": ({"images": SQUARE[:0], "labels": LABELS[:0]}, "shape (0, 12, 12, 3)"),
    "no labels": (
        {"images": SQUARE, "y_train": LABELS},
        "no array called 'labels' (nor y or y_test), but images, y_train",
    ),
    "nothing": ({}, "no array called 'images' (nor x or x_test), but nothing"),
    "too few": ({"images": SQUARE, "labels": LABELS[:4]}, "(4,) and int64 for 5 images"),
    "one-hot": ({"images": SQUARE, "labels": np.eye(5, dtype=int)}, "shape (5, 5)"),
    "float labels": ({"images": SQUARE, "labels": LABELS + 0.5}, "float64"),
    "negative": ({"images": SQUARE, "labels": LABELS - 1}, "label -1 is not a class"),
    "from one": ({"images": SQUARE, "labels": [1, 1000, 3, 4, 5]}, "labels go from 1 to 1000"),
    "objects": ({"images": OBJECTS, "labels": LABELS}, "'images' is not an array of plain"),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals_name_the_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arrays, wrong = BAD[name]
    path = npz(tmp_path, **arrays)
    with pytest.raises(UserError) as caught:
        open_dataset(path)
    assert str(path) in str(caught.value)
    assert wrong in str(caught.value)
    assert not (tmp_path / "unpickled").exists()


def test_npy_needs_labels(tmp_path: Path) -> None:
    path = npy(tmp_path, SQUARE, LABELS)
    with pytest.raises(UserError, match=r"images without labels; give --labels labels\.npy"):
        open_dataset(path)
    with pytest.raises(UserError, match=r"gone\.npy cannot be read: No such file"):
        open_dataset(path, labels=tmp_path / "gone.npy")


def test_labels_are_given_once(tmp_path: Path) -> None:
    npy(tmp_path, SQUARE, LABELS)
    path = npz(tmp_path, images=SQUARE, labels=LABELS)
    with pytest.raises(UserError, match="has labels of its own"):
        open_dataset(path, labels=tmp_path / "labels.npy")
    alone = npz(tmp_path, images=SQUARE)
    assert open_dataset(alone, labels=tmp_path / "labels.npy").labels == (3, 0, 1, 3, 2)


def test_labels_beyond_the_class_list(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("a\nb\nc\n")
    path = npz(tmp_path, images=SQUARE, labels=LABELS)
    with pytest.raises(UserError, match=r"label 3 is not a class; they are 0 to 2 \(3 classes\)"):
        open_dataset(path, classes=tmp_path / "classes.txt")


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 no zip", b"\x80\x04.", b"\x93NUMPY\x01\x00", b"text"]
)
@pytest.mark.parametrize("ending", ["npz", "npy"])
def test_what_is_no_numpy_file(content: bytes, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"set.{ending}"
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"set\.{ending} is not a numpy file of plain numbers"):
        open_dataset(path, labels=path)


def test_a_folder_with_both_is_ambiguous(tmp_path: Path) -> None:
    npy(tmp_path, SQUARE, LABELS)
    (tmp_path / "n01440764").mkdir()
    Image.fromarray(IMAGES[0]).save(tmp_path / "n01440764" / "a.png")
    with pytest.raises(UserError, match=r"images\.npy and 1 image file; point at one"):
        open_dataset(tmp_path)
