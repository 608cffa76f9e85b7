"""Each suspicion speaks up on its case, and none on a sound data set."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.data.dataset import Dataset, Remark
from robustbench_twicing.data.folders.class_folders import BY_NUMBER
from robustbench_twicing.data.known_sets.validation import LABELS, first_classes, other_numbering
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.data.summary import survey
from robustbench_twicing.data.suspicions import suspicions
from tests.robustbench_twicing.data.archives.conftest import member, write_parquet, write_tar
from tests.tiny import greys

SOUND = ["n01440764/ILSVRC2012_val_1.JPEG", "n01443537/ILSVRC2012_val_2.JPEG"]


def pictures(root: Path, names: list[str], *, size: tuple[int, int] = (300, 200)) -> Path:
    """Pictures of slightly different sizes and colours."""
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size, (number % 256, number // 256, 9)).save(path)
    return root


def remarks_on(dataset: Dataset, preprocessing: Preprocessing | None = None) -> tuple[Remark, ...]:
    return suspicions(dataset, survey(dataset), preprocessing)


def found_in(root: Path) -> tuple[str, ...]:
    return tuple(remark.sentence for remark in remarks_on(open_dataset(root)))


def flags_of(dataset: Dataset, preprocessing: Preprocessing | None = None) -> list[str]:
    return [remark.flag for remark in remarks_on(dataset, preprocessing)]


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


@pytest.mark.parametrize(
    ("folder", "flag"),
    [
        ("ILSVRC2012_img_train/n01440764", "training-images"),
        ("train/n01440764", "training-images"),
        ("train/val", None),
        ("ImageNet-C/sub", "corrupted-as-clean"),
        ("CIFAR-10-C", "corrupted-as-clean"),
        ("contrast", "corrupted-as-clean"),
        ("contrasts", None),
    ],
)
def test_what_the_path_tells(folder: str, flag: str | None, tmp_path: Path) -> None:
    names = ["a.png", "b.png"] if folder.endswith("n01440764") else SOUND
    assert flags_of(open_dataset(pictures(tmp_path / folder, names))) == ([flag] if flag else [])


def test_classes_of_ones_own_may_be_called_like_corruptions(tmp_path: Path) -> None:
    pictures(tmp_path / "weather", ["fog/a.png", "snow/b.png", "train/c.png"])
    (tmp_path / "classes.txt").write_text("fog\nsnow\ntrain\n")
    dataset = open_dataset(tmp_path / "weather", classes=tmp_path / "classes.txt")
    assert flags_of(dataset) == []


@pytest.mark.parametrize(
    ("preprocessing", "large", "small"),
    [
        (Preprocessing(224, 256), ["cropped-before-224px"], ["tiny-images-64px"]),
        (Preprocessing(224, 224), [], ["tiny-images-64px"]),
        (Preprocessing(64, 73), ["cropped-before-224px"], []),
    ],
)
def test_sizes_matter_where_a_network_crops_or_enlarges(
    preprocessing: Preprocessing, large: list[str], small: list[str], tmp_path: Path
) -> None:
    for side, flags in ((224, large), (64, small)):
        root = pictures(tmp_path / str(side), SOUND, size=(side, side))
        assert flags_of(open_dataset(root), preprocessing) == flags


def test_arrays_of_the_networks_input_size_are_taken_as_they_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 224, 224), np.uint8), labels=[0, 1])
    dataset = open_dataset(tmp_path / "a.npz")
    assert flags_of(dataset, Preprocessing(224, 256)) == []
    assert flags_of(dataset, Preprocessing(192, 219)) == ["cropped-before-224px"]


def array_of(path: Path, images: np.ndarray, labels: np.ndarray) -> Dataset:
    np.savez(path, images=images, labels=labels)
    return open_dataset(path)


def test_five_severities_in_one_array_are_no_clean_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 256, (40, 32, 32, 3))
    noise = [rng.normal(0, 12 * severity, clean.shape) for severity in range(1, 6)]
    images = np.concatenate([np.clip(clean + part, 0, 255) for part in noise]).astype(np.uint8)
    labels = np.tile(rng.integers(0, 10, 40), 5)
    size = Preprocessing(32, 32)
    assert flags_of(array_of(tmp_path / "a.npz", images, labels), size) == ["five-severities"]
    np.save(tmp_path / "fog.npy", images)
    np.save(tmp_path / "labels.npy", labels)
    dataset = open_dataset(tmp_path / "fog.npy", labels=tmp_path / "labels.npy")
    assert flags_of(dataset, size) == ["corrupted-as-clean", "five-severities"]
    others = rng.integers(0, 256, images.shape, dtype=np.uint8)
    assert flags_of(array_of(tmp_path / "b.npz", others, labels), size) == []
    in_turn = np.arange(200) % 10
    by_class = (in_turn[:, None, None, None] * 20 + np.zeros((1, 32, 32, 3))).astype(np.uint8)
    assert flags_of(array_of(tmp_path / "c.npz", by_class, in_turn), size) == []


def test_a_subset_says_nothing_of_where_counting_began(tmp_path: Path) -> None:
    root = pictures(tmp_path, [f"{label}/{name}.png" for label in "0123" for name in "abc"])
    limits = [open_dataset(root, limit=3, seed=seed) for seed in range(20)]
    assert any(set(data.labels) == {1, 2, 3} for data in limits)
    assert not any(flags_of(data) for data in limits)
    (root / "0").rename(root / "4")
    assert flags_of(open_dataset(root, limit=8)) == ["labels-from-1"]


def test_wnids_in_another_order_than_their_own(tmp_path: Path) -> None:
    root = pictures(tmp_path / "val", SOUND)
    classes = tmp_path / "wnids.txt"
    classes.write_text("n01443537\nn01440764\n")
    assert open_dataset(root, classes=classes).flags == ("wnids-unsorted",)
    classes.write_text("n01440764\nn01443537\n")
    assert open_dataset(root, classes=classes).flags == ()


DEVKIT = (490, 361, 171, 822, 297, 482, 13, 704, 599, 164)
"""ILSVRC2012_ID of the first validation images."""


@pytest.mark.parametrize(
    ("labels", "flags", "reason"),
    [
        (DEVKIT, ["labels-of-other-classes"], "devkit"),
        ([label - 1 for label in DEVKIT], ["labels-of-other-classes"], "devkit"),
        ([label + 1 for label in LABELS[:10]], ["labels-of-other-classes"], "counted from 1"),
        (LABELS[:10], [], ""),
        (DEVKIT[:4], [], ""),
    ],
)
def test_labels_of_validation_images_are_known(
    labels: Sequence[int], flags: list[str], reason: str, tmp_path: Path
) -> None:
    names = [f"ILSVRC2012_val_{number + 1:08d}.JPEG" for number in range(len(labels))]
    root = pictures(tmp_path / "val", names)
    file = tmp_path / "labels.txt"
    lines = (f"{name} {label}" for name, label in zip(names, labels, strict=True))
    file.write_text("\n".join(lines))
    remarks = tuple(other_numbering(open_dataset(root, labels=file)))
    assert [remark.flag for remark in remarks] == flags
    assert all(reason in remark.sentence for remark in remarks)


@pytest.mark.shared
def test_the_known_labels_are_those_of_photographs(shared: Path) -> None:
    dataset = open_dataset(shared / "data" / "imagenet-val-100")
    numbers = [int(Path(name).stem.rpartition("_")[2]) for name in dataset.ids]
    assert [LABELS[number - 1] for number in numbers] == list(dataset.labels)
    assert flags_of(dataset, Preprocessing(224, 256)) == []


def test_what_was_left_out_is_counted(tmp_path: Path) -> None:
    root = pictures(tmp_path, SOUND)
    for name in ("a.svg", "b.svg", "c.heic", ".hidden.png", "._twin.png", ".DS_Store"):
        (root / "n01440764" / name).write_bytes(b"1")
    (root / ".cache").mkdir()
    (root / "n01484850").symlink_to(root / "gone")
    remarks = remarks_on(open_dataset(root))
    assert [remark.flag for remark in remarks] == [
        *("dangling-links-1", "files-left-out-4", "hidden-2"),
    ]
    links, files, hidden = (remark.sentence for remark in remarks)
    assert links.endswith(": n01484850")
    assert "4 files were left out: not an image by its ending (.svg) (2: n01440764/" in files
    assert "; not an image by its ending (.heic) (1: n01440764/" in files
    assert hidden.endswith(": .cache, n01440764/.hidden.png")


def test_a_survey_of_some_images_is_seeded(tmp_path: Path) -> None:
    root = pictures(tmp_path, [f"n01440764/{number}.png" for number in range(40)])
    dataset = open_dataset(root)
    exif = Image.Exif()
    exif[0x0112] = 6
    for file in sorted((root / "n01440764").iterdir())[::2]:
        Image.open(file).convert("RGB").save(file.with_suffix(".png"), exif=exif)
    seen, again = (survey(dataset, most=10) for _ in range(2))
    assert seen == again
    assert seen.images == 10
    assert 0 < len(seen.rotated) < 10
    (flag,) = [remark.flag for remark in suspicions(dataset, seen) if "exif" in remark.flag]
    assert flag == f"exif-orientation-{len(seen.rotated)}-of-10"


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


@pytest.mark.parametrize(
    ("form", "what"),
    [
        ("JPEG", "which is not applied"),
        ("PNG", "which is not applied"),
        ("WEBP", "which is not applied"),
        ("TIFF", "which Pillow applies, to TIFF alone"),
    ],
)
def test_rotated_pictures(form: str, what: str, tmp_path: Path) -> None:
    root = pictures(tmp_path, SOUND)
    exif = Image.Exif()
    exif[0x0112] = 8
    said = {"tiffinfo": dict(exif)} if form == "TIFF" else {"exif": exif}
    Image.new("RGB", (300, 200)).save(root / SOUND[0], form, **said)
    (sentence,) = found_in(root)
    assert sentence == (
        f"1 image with an EXIF orientation, {what}: {SOUND[0]} (of {len(SOUND)} looked "
        "at; as in torchvision and timm)"
    )


def test_arrays_counted_from_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((3, 99, 80), np.uint8), labels=[1, 2, 3])
    (sentence,) = found_in(tmp_path / "a.npz")
    assert "counted from 1" in sentence


def numbered(labels: Sequence[int], *notes: str) -> Dataset:
    return replace(greys([0] * len(labels), labels), notes=notes)


TEN = [number % 10 for number in range(40)]


@pytest.mark.parametrize(
    ("labels", "is_said"),
    [
        (TEN, True),
        (list(range(200)) * 4, True),
        ([0, 1] * 4, True),
        (TEN[:39], False),  # three images of one class
        ([*TEN, 11, 11, 11, 11], False),
        (list(range(201)) * 4, False),
        ([label + 1 for label in TEN], False),
        ([0] * 40, False),
    ],
)
def test_numbers_that_may_be_classes_of_ones_own_are_said(labels: list[int], is_said: bool) -> None:
    """Where they count as ImageNet's, and nothing names them."""
    dataset = numbered(labels, BY_NUMBER)
    flags = [remark.flag for remark in first_classes(dataset, 1000)]
    assert flags == [f"labels-0-to-{max(labels)}"] * is_said
    assert not list(first_classes(dataset, 10)) + list(first_classes(dataset, None))
    assert not list(first_classes(numbered(labels), 1000))


def forms_by_number(root: Path) -> Iterator[tuple[Path, Path | None]]:
    """The same eight images, whose labels are 0 and 1, in every form; and a label file."""
    content = {f"{number}.png": (root / f"flat/{number}.png").read_bytes() for number in range(8)}
    for name, png in content.items():
        path = root / "numbers" / str(int(name[0]) % 2) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png)
    (root / "labels.csv").write_text("".join(f"{name},{int(name[0]) % 2}\n" for name in content))
    (root / "real.json").write_text(json.dumps({name: [int(name[0]) % 2] for name in content}))
    beside = {f"{name[0]}.cls": str(int(name[0]) % 2).encode() for name in content}
    yield root / "numbers", None
    yield root / "flat", root / "labels.csv"
    yield root / "flat", root / "real.json"
    files = sorted((content | beside).items())
    yield write_tar(root / "w.tar", [member(name, of) for name, of in files]), None
    rows = [{"bytes": png, "path": name} for name, png in content.items()]
    yield write_parquet(root / "p.parquet", rows, label=[n % 2 for n in range(8)]), None
    np.savez(root / "a.npz", images=np.zeros((8, 9, 9, 3), np.uint8), labels=np.arange(8) % 2)
    yield root / "a.npz", None


def test_in_every_form_numbers_are_said_alike(tmp_path: Path) -> None:
    pictures(tmp_path / "flat", [f"{number}.png" for number in range(8)])
    for form, labels in forms_by_number(tmp_path):
        dataset = open_dataset(form, labels=labels)
        assert dataset.notes.count(BY_NUMBER) == 1, form
        known = suspicions(dataset, survey(dataset), num_classes=1000)
        assert "labels-0-to-1" in [remark.flag for remark in known], form
        own = suspicions(dataset, survey(dataset), num_classes=2)
        said = "labels-0-to-1" in [remark.flag for remark in own]
        assert said == (dataset.num_classes == 1000), form
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    for name in ("p.parquet", "w.tar", "a.npz"):
        named = open_dataset(tmp_path / name, classes=tmp_path / "classes.txt")
        assert BY_NUMBER not in named.notes
    (tmp_path / "labels.csv").write_text("".join(f"{n}.png,n01440764\n" for n in range(8)))
    assert BY_NUMBER not in open_dataset(tmp_path / "flat", labels=tmp_path / "labels.csv").notes
