"""A thousand damaged label files, class lists, mappings and suites: data, refused by the line."""

import json
from pathlib import Path

import pytest

from attacks.corruptions.layout import read_record
from reports.exports.paper import read_paper
from reports.imagenet_c.reference_errors import read_normaliser
from reports.tables.efficiency import COLUMNS, efficiency_tables
from reports.tables.formats.as_text import as_csv
from robustbench_twicing.conditions.suites import list_suites, load_suite
from robustbench_twicing.data.opening import open_dataset
from tests.palette import OBJECTNET, write, write_mappings

from .rounds import Kind, fuzz
from .textwise import JSONWISE, TEXTWISE

PHOTOS = ("a.JPEG", "b.JPEG", "sub/c.png")
CSV = "file,wnid\na.JPEG,n01440764\nb.JPEG,n01443537\nsub/c.png,n01484850\n"
PLAIN = "a.JPEG 0\nb.JPEG 1\nsub/c.png 999\n"
KAGGLE = (
    "ImageId,PredictionString\na,n01440764 1 2 3 4\nb,n01443537 1 2 3 4 \nc,n01484850 1 2 3 4\n"
)
KINDS = (
    *("labels", "classes", "mapping", "suite", "paper", "normaliser", "efficiency", "corrupted"),
)
NORMALISER = "# of a model\ncorruption,severity,error\nclean,0,0.2\nfog,1,0.5\nsnow,5,0.75\n"
NUMBERS = ",".join("1" for _ in COLUMNS)
EFFICIENCY = f"{','.join(COLUMNS)}\n{NUMBERS}\n{NUMBERS.replace('1', '2')}\n"
PAPER = """
link: https://arxiv.org/abs/2303.01870
name: "A title: with a colon"
additional_data: false
models:
  net: {architecture: ViT-S, reported: 48.08, number_forward_passes: 1}
"""
SUITE = """
protocol: pixel
include: [quick]
conditions:
  - attack: clean
  - attack: pgd
    eps: [0.5/255, 1/255]
    settings: {steps: 40}
  - attack: fgsm
    protocol: paper
    eps: [4/255]
  - corruption: [fog, snow]
    severity: [1, 3]
"""


def _photos(folder: Path, names: tuple[str, ...]) -> Path:
    root = folder.parent / f"photos-{len(names)}"
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def read_labels(folder: Path, damaged: Path) -> None:
    """A label file beside a flat folder."""
    open_dataset(_photos(folder, PHOTOS), labels=damaged)


def read_classes(folder: Path, damaged: Path) -> None:
    """A class list beside folders with such names."""
    open_dataset(_photos(folder, ("cat/1.png", "dog/1.png")), classes=damaged)


def read_mapping(folder: Path, _: Path) -> None:
    """ObjectNet's mapping files, in the folder of its images."""
    images = folder / "images"
    write(images, {"chair/a.png": 559, "helmet/a.png": 518}, border=2)
    open_dataset(f"objectnet={folder}")


def _mappings(tmp: Path) -> dict[str, bytes]:
    write_mappings(tmp, OBJECTNET)
    return {f"mappings/{file.name}": file.read_bytes() for file in tmp.iterdir()}


@pytest.fixture
def kinds(tmp_path: Path) -> dict[str, Kind]:
    """All kinds of text files."""
    text = {"": TEXTWISE, ".json": JSONWISE}
    labels = {
        str(number): {"labels.csv": each.encode()}
        for number, each in enumerate((CSV, PLAIN, KAGGLE))
    }
    classes = {
        "lines": {"classes.txt": b"cat\ndog\nfish\n"},
        "json": {"classes.json": json.dumps({"cat": 0, "dog": 1}).encode()},
        "list": {"classes.json": json.dumps(["cat", "dog", "fish"]).encode()},
    }
    record = {"jpeg": True, "side": 224, "seed": 0, "severities": [1, 2], "corruptions": ["fog"]}
    return {
        "labels": Kind(labels, text, read_labels),
        "classes": Kind(classes, text, read_classes),
        "mapping": Kind({"a": _mappings(tmp_path / "m")}, text, read_mapping, names_folder=True),
        "suite": Kind(
            {"a": {"suite.yaml": SUITE.encode()}}, text, lambda _, file: load_suite(str(file))
        ),
        "paper": Kind(
            {"a": {"paper.yaml": PAPER.encode()}}, text, lambda _, file: read_paper(file, ["net"])
        ),
        "normaliser": Kind(
            {"a": {"errors.csv": NORMALISER.encode()}},
            text,
            lambda _, file: read_normaliser(str(file)),
        ),
        "efficiency": Kind(
            {"a": {"efficiency.csv": EFFICIENCY.encode()}},
            text,
            lambda _, file: [as_csv(sheet) for sheet in efficiency_tables([file])],
        ),
        "corrupted": Kind(
            {"a": {"corrupted.json": json.dumps(record).encode()}},
            text,
            lambda folder, _: read_record(folder),
        ),
    }


@pytest.mark.parametrize("name", KINDS)
def test_damaged_texts_are_refused_in_one_line(
    name: str, kinds: dict[str, Kind], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    counts = fuzz(name, kinds[name], tmp_path)
    assert counts["refused"]


def test_the_undamaged_are_read(kinds: dict[str, Kind], tmp_path: Path) -> None:
    for name, kind in kinds.items():
        for number, files in enumerate(kind.good.values()):
            folder = tmp_path / f"{name}{number}"
            for file, content in files.items():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_bytes(content)
            kind.read(folder, folder / next(iter(files)))
    assert "quick" in list_suites()
