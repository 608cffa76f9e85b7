"""ObjectNet: labels by its own mapping, many classes to one, and no red border."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from tests.palette import OBJECTNET, PALETTE, PREPROCESSING, write, write_mappings

SHOWN = {
    "chair/a.png": 559,
    "chair/b.png": 1,
    "helmet/a.png": 518,
    "helmet/b.png": 560,
    "alarm_clock/a.png": 409,
    "zoo_thing/a.png": 3,
}
IMAGENET_FILE = "mappings/objectnet_to_imagenet_1k.json"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    root = tmp_path / "objectnet-1.0"
    write(root / "images", SHOWN, border=2)
    write_mappings(root / "mappings", OBJECTNET)
    (root / "README").write_text("text")
    return root


@pytest.mark.parametrize("where", ["", "images"])
def test_labels_come_from_the_mapping(where: str, archive: Path) -> None:
    dataset = open_dataset(f"objectnet={archive / where}")
    assert (dataset.name, dataset.clean_id, dataset.num_classes) == ("objectnet", "objectnet", 3)
    assert dict(zip(dataset.ids, dataset.labels, strict=True)) == {
        "alarm_clock/a.png": 0,
        "chair/a.png": 1,
        "chair/b.png": 1,
        "helmet/a.png": 2,
        "helmet/b.png": 2,
    }
    assert dataset.space is not None
    assert dataset.space.logits == ((409,), (423, 559, 765), (518, 560))
    assert dataset.space.others_count
    assert dataset.skipped == ()
    notes = " ".join(dataset.notes)
    assert "5 of 6 images are evaluated, those in the 3 classes" in notes
    assert "4 folders with images, 313 in the published set" in notes
    assert "its mapping gives 3 classes of ImageNet, not 113" in notes
    assert "6 images in images, 50,273 in the published set" in notes


def test_folders_may_lie_beside_the_mappings(archive: Path) -> None:
    for folder in (archive / "images").iterdir():
        folder.rename(archive / folder.name)
    (archive / "images").rmdir()
    dataset = open_dataset(f"objectnet={archive}")
    assert len(dataset) == 5
    assert [skipped_file.id for skipped_file in dataset.skipped] == ["README"]


def test_the_border_is_cut_off(archive: Path) -> None:
    dataset = open_dataset(f"objectnet={archive}")
    index = dataset.ids.index("helmet/a.png")
    pixels = dataset.pixels(index, PREPROCESSING)
    np.testing.assert_array_equal(pixels, np.broadcast_to(PALETTE[518], (8, 8, 3)))
    chosen = dataset.select([index])
    np.testing.assert_array_equal(chosen.pixels(0, PREPROCESSING), pixels)
    Image.new("RGB", (4, 4)).save(archive / "images" / "helmet" / "a.png")
    with pytest.raises(BadImageError, match="4 x 4 pixels, nothing but border"):
        dataset.pixels(index, PREPROCESSING)


def test_a_missing_folder_shifts_nothing_and_is_named(archive: Path) -> None:
    for name in ("a", "b"):
        (archive / "images" / "chair" / f"{name}.png").unlink()
    write(archive / "images", {"unheard_of/a.png": 3, "helmet_2/a.png": 4})
    dataset = open_dataset(f"objectnet={archive}")
    assert dict(zip(dataset.ids, dataset.labels, strict=True))["helmet/b.png"] == 2
    notes = " ".join(dataset.notes)
    assert "1 of its 3 classes have no image here: chair" in notes
    assert "1 folder without images: chair" in notes
    assert "2 folders left out that its mapping does not name: helmet_2, unheard_of" in notes


@pytest.mark.slow
def test_class_names_of_timm_stand_in(archive: Path) -> None:
    (archive / "mappings" / "imagenet_to_label_2012_v2").unlink()
    named = {"Alarm clock": "analog clock", "Helmet": "crash helmet; football helmet;"}
    (archive / IMAGENET_FILE).write_text(json.dumps(named))
    dataset = open_dataset(f"objectnet={archive}")
    assert dataset.space is not None
    assert dataset.space.logits == ((409,), (518, 560))
    assert any("class names are those of timm's list" in note for note in dataset.notes)


FAULTS = {
    "no mapping": ("mappings", None, "has no folder mappings/"),
    "no names": ("mappings/folder_to_objectnet_label.json", None, "cannot be read"),
    "not JSON": (IMAGENET_FILE, "{", "is not JSON"),
    "a list": (IMAGENET_FILE, "[1]", "is not a JSON object"),
    "empty": (IMAGENET_FILE, "{}", "is not a JSON object with entries"),
    "numbers": (IMAGENET_FILE, '{"Chair": 3}', "is not a mapping of names to names"),
    "no folder": (IMAGENET_FILE, '{"Sofa": "class 1, a word"}', "gives no folder: Sofa"),
    "no class": (IMAGENET_FILE, '{"Chair": "class 1000, a word"}', "is no class of ImageNet-1k"),
    "twice": (
        IMAGENET_FILE,
        '{"Chair": "class 1, a word", "Helmet": "class 2, a word; class 1, a word"}',
        "gives class 1 of ImageNet two labels",
    ),
    "no overlap": (IMAGENET_FILE, '{"Chair": " ; "}', "none of its folders is a class"),
    "index": ("mappings/pytorch_to_imagenet_2012_id.json", '{"1000": 1}', "indices 0 to 999"),
    "position": ("mappings/pytorch_to_imagenet_2012_id.json", '{"1": 1000}', "has 1000 lines"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_damaged_archive_is_refused_in_one_line(name: str, archive: Path) -> None:
    file, content, words = FAULTS[name]
    path = archive / file
    if content is not None:
        path.write_text(content)
    elif path.is_dir():
        path.rename(archive / "elsewhere")
    else:
        path.unlink()
    with pytest.raises(UserError) as caught:
        open_dataset(f"objectnet={archive}")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ambiguous_class_names_are_refused(archive: Path) -> None:
    file = archive / "mappings" / "imagenet_to_label_2012_v2"
    file.write_text(file.read_text().replace("class 5, a word", "class 409, a word"))
    with pytest.raises(UserError, match="'class 409, a word' means classes 5 and 409"):
        open_dataset(f"objectnet={archive}")
