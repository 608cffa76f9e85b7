"""Inputs made from public bug reports give the labels, pixels and refusals they should."""

import csv
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.data.imagenet import subset_indices
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from tests.cases import BuildCase

Build = Callable[[str], tuple[Path, dict[str, Any]]]
DEIT = Preprocessing(224, 256)


@pytest.fixture
def build(
    case_script: ModuleType,
    build_case: BuildCase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Build:
    """Build the data of one case (without its checkpoint): its folder and its expectations."""
    monkeypatch.setattr(case_script, "common", lambda root: None)
    monkeypatch.setattr(case_script, "colour_deit", lambda *args, **options: {})

    def make(name: str) -> tuple[Path, dict[str, Any]]:
        folder, facts = build_case(name, tmp_path)
        return folder, facts["expect"]

    return make


@pytest.mark.slow
@pytest.mark.parametrize("resize", [256, 248])
def test_stripes_are_averaged_not_sampled(resize: int, build: Build) -> None:
    folder, expect = build("h06")
    dataset = open_dataset(folder / "val")
    assert len(dataset) == expect["n"]
    preprocessing = Preprocessing(224, resize)
    for index, (name, label) in enumerate(zip(dataset.ids, dataset.labels, strict=True)):
        pixels = dataset.pixels(index, preprocessing).astype(float)
        red_minus_blue = pixels[..., 0].mean() - pixels[..., 2].mean()
        assert (red_minus_blue > 0) == (label == 1), name
        if name.endswith(f"stripes_{3 * resize}.png"):
            assert red_minus_blue == pytest.approx(-22, abs=1)


@pytest.mark.slow
def test_a_flat_folder_needs_labels(build: Build) -> None:
    folder, expect = build("h07")
    for root in (folder / "imagenet", folder / "imagenet" / "val"):
        with pytest.raises(UserError, match=r"flat folder.*no class folders.*--labels FILE"):
            open_dataset(root)
        dataset = open_dataset(root, labels=folder / "val_labels.csv")
        assert len(dataset) == expect["with_label_file"]["n"]
        for index, label in enumerate(dataset.labels):
            pixels = dataset.pixels(index, DEIT).astype(int)
            assert (pixels[..., 0].mean() > pixels[..., 2].mean()) == (label == 1)


@pytest.mark.slow
def test_imagenet_a_is_mapped_by_wnid(build: Build) -> None:
    folder, expect = build("h09")
    dataset = open_dataset(folder / "imagenet-a")
    assert len(dataset) == expect["n"]
    with (folder / "truth.csv").open() as file:
        truth = {row["wnid"]: int(row["index_in_1000"]) for row in csv.DictReader(file)}
    for name, label in zip(dataset.ids, dataset.labels, strict=True):
        assert label == truth[name.split("/")[0]]
    assert dataset.labels == subset_indices("imagenet-a")
    assert any("ImageNet-A" in note for note in dataset.notes)


def test_bad_files_are_named_and_never_half_decoded(build: Build) -> None:
    folder, expect = build("h10")
    dataset = open_dataset(folder / "val")
    right = readable = 0
    bad: dict[str, str] = {}
    for index, label in enumerate(dataset.labels):
        try:
            pixels = dataset.pixels(index, DEIT).astype(int)
        except BadImageError as error:
            bad[error.path.name] = error.what
            continue
        readable += 1
        right += bool((pixels[..., 0].mean() > pixels[..., 2].mean()) == (label == 1))
    assert readable == expect["readable"]
    assert len(bad) == expect["unreadable"]
    assert right / readable == expect["clean_top1_over_readable"]
    assert "truncated" in bad["900_truncated.JPEG"]
    assert bad["901_empty.JPEG"] == "is empty (0 bytes)"
    assert bad["902_not_an_image.JPEG"] == "is an HTML page"


@pytest.mark.parametrize("layout", ["images.npy", "val"])
def test_arrays_and_files_of_one_case_agree(layout: str, build: Build) -> None:
    folder, expect = build("h05")
    labels = folder / "labels.npy" if layout == "images.npy" else None
    dataset = open_dataset(folder / layout, labels=labels)
    assert len(dataset) == expect["n"]
    array = np.load(folder / "images.npy")
    assert dataset.labels == tuple(np.load(folder / "labels.npy"))
    for index in range(len(dataset)):
        np.testing.assert_array_equal(dataset.pixels(index, DEIT), array[index])
