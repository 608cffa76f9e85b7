"""RobustBench's 5,000 images are known by labels and file names, in whatever folders they lie."""

from hashlib import sha256
from pathlib import Path

import pytest

from robustbench_twicing.cli.app import main
from robustbench_twicing.data.known_sets import robustbench
from robustbench_twicing.data.known_sets.robustbench import (
    NOTE,
    are_robustbench_images,
    names_sha256,
)
from robustbench_twicing.data.opening import open_dataset
from tests.palette import write

LINES = ["n01440764/B.JPEG", "n01440764/_.JPEG", "n01440764/a.JPEG", "n01443537/A.JPEG"]
"""As bytes sort them: capital letters before `_`, and `_` before small ones."""


@pytest.fixture(autouse=True)
def four_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if RobustBench took just these."""
    digest = sha256("".join(f"{line}\n" for line in LINES).encode()).hexdigest()
    monkeypatch.setattr(robustbench, "NAMES_SHA256", digest)
    monkeypatch.setattr(robustbench, "IMAGES", len(LINES))


def test_the_hash_is_over_sorted_lines_of_wnid_and_name() -> None:
    images = [("val/a.JPEG", 0), ("A.JPEG", 1), ("n01440764/B.JPEG", 0), ("0/_.JPEG", 0)]
    assert names_sha256(images) == robustbench.NAMES_SHA256
    assert are_robustbench_images(images)
    assert not are_robustbench_images(images[:-1])
    assert not are_robustbench_images([*images[:-1], ("0/_.JPEG", 1)])
    assert not are_robustbench_images([*images[:-1], ("0/_.png", 0)])
    assert not are_robustbench_images([*images[:-1], ("0/_.JPEG", 1000)])
    assert not are_robustbench_images([*images[:-1], ("0/_.JPEG", -1)])


def test_folders_by_class_have_the_note(tmp_path: Path) -> None:
    root = write(tmp_path / "val", dict.fromkeys(LINES, 0))
    assert NOTE in open_dataset(root).notes
    assert NOTE in open_dataset(f"imagenet={root}").notes
    assert NOTE not in open_dataset(root, limit=3).notes
    write(root, {"n01443537/a.JPEG": 1})
    assert NOTE not in open_dataset(root).notes


def test_a_flat_folder_has_it_by_its_labels(tmp_path: Path) -> None:
    names = {"B.JPEG": 0, "_.JPEG": 0, "a.JPEG": 0, "A.JPEG": 1}
    root = write(tmp_path / "flat", names)
    labels = tmp_path / "labels.txt"
    labels.write_text("".join(f"{name} {label}\n" for name, label in names.items()))
    assert NOTE in open_dataset(root, labels=labels).notes
    labels.write_text("".join(f"{name} 0\n" for name in names))
    assert NOTE not in open_dataset(root, labels=labels).notes


def test_data_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", str(write(tmp_path / "val", dict.fromkeys(LINES, 0)))]) == 0
    assert "these are RobustBench's" in capsys.readouterr().out
