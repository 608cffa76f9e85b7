"""Each suspicion speaks up on its case, and none on a sound data set."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.summary import survey
from robustbench_twicing.data.suspicions import suspicions

SOUND = ["n01440764/ILSVRC2012_val_1.JPEG", "n01443537/ILSVRC2012_val_2.JPEG"]


def pictures(root: Path, names: list[str], *, size: tuple[int, int] = (300, 200)) -> Path:
    """Pictures of slightly different sizes and colours."""
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size, (number % 256, number // 256, 9)).save(path)
    return root


def found_in(root: Path) -> tuple[str, ...]:
    dataset = open_dataset(root)
    return suspicions(dataset, survey(dataset), root)


def test_a_sound_folder(tmp_path: Path) -> None:
    assert found_in(pictures(tmp_path, SOUND)) == ()


CASES = {
    "from one": (["1/a.png", "2/a.png", "3/a.png"], "labels are 1 to 3 without a gap"),
    "train folder": ([f"train/{name}" for name in SOUND], "a folder is called train"),
    "train names": (["n01440764/n01440764_9.JPEG"], "files are named like n..._N"),
    "imagenet-c": ([f"snow/3/{name}" for name in SOUND], "named like ImageNet-C (snow)"),
    "twins": (["n01440764/a.png", "n01440764/a.JPEG"], "1 name with more than one ending"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_speaks_up_alone(name: str, tmp_path: Path) -> None:
    names, wanted = CASES[name]
    (sentence,) = found_in(pictures(tmp_path, names))
    assert wanted in sentence


@pytest.mark.parametrize(
    "names",
    [
        ["0/a.png", "1/a.png", "2/a.png"],
        ["1/a.png", "2/a.png"],
        ["n01443537/a.png", "n01484850/b.png", "n01491361/c.png"],
    ],
)
def test_not_every_label_is_counted_from_one(names: list[str], tmp_path: Path) -> None:
    assert found_in(pictures(tmp_path, names)) == ()


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        ((64, 64), "no image is larger than 64 pixels"),
        ((64, 50), "no image is larger than 64 pixels"),
        ((224, 224), "every image is 224 x 224, as if resized"),
        ((256, 256), ""),
        ((65, 50), ""),
    ],
)
def test_sizes(size: tuple[int, int], wanted: str, tmp_path: Path) -> None:
    sentences = found_in(pictures(tmp_path, SOUND, size=size))
    assert len(sentences) == bool(wanted)
    assert all(wanted in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("above", "suspect"),
    [("gaussian_noise/3", True), ("fog", True), ("fog/2/sub", True), ("snow/data", False)],
)
def test_corruptions_above_the_folder(above: str, suspect: bool, tmp_path: Path) -> None:
    root = pictures(tmp_path / above, SOUND)
    assert any("ImageNet-C" in sentence for sentence in found_in(root)) is suspect


def test_copies_byte_for_byte(tmp_path: Path) -> None:
    root = pictures(tmp_path, SOUND)
    first = root / SOUND[0]
    for name in ("n01443537/copy.JPEG", "n01440764/again.JPEG"):
        (root / name).write_bytes(first.read_bytes())
    for name, start in (("one", b"1"), ("two", b"2")):
        (root / "n01440764" / f"{name}.JPEG").write_bytes(start + bytes(5000))
    (root / "n01440764" / "empty1.JPEG").write_bytes(b"")
    (root / "n01440764" / "empty2.JPEG").write_bytes(b"")
    (sentence,) = found_in(root)
    assert sentence.startswith("2 files are copies of another, byte for byte: ")
    assert "n01440764/ILSVRC2012_val_1.JPEG = n01440764/again.JPEG" in sentence


def test_rotated_pictures(tmp_path: Path) -> None:
    root = pictures(tmp_path, SOUND)
    exif = Image.Exif()
    exif[0x0112] = 8
    Image.new("RGB", (300, 200)).save(root / SOUND[0], exif=exif)
    (sentence,) = found_in(root)
    assert sentence.startswith("1 image with an EXIF orientation, which is not applied")


def test_arrays_counted_from_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((3, 99, 80), np.uint8), labels=[1, 2, 3])
    (sentence,) = found_in(tmp_path / "a.npz")
    assert "counted from 1" in sentence
