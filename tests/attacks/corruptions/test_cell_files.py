"""ImageNet-C straight from its archives, and sets like it under names of their own."""

import json
import pickle
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from attacks import corruption_condition
from attacks.corruptions.cell_files import TarFiles
from attacks.corruptions.layout import RECORD
from attacks.corruptions.official import open_official
from reports import results
from reports.imagenet_c.corruption_rows import CORRUPTED
from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet_c import OTHER_SETS, PREFIX, Cell, parse_corruptions
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import MissingImageError, UnreadableError, UserError
from robustbench_twicing.models.family import ModelRecord
from tests.attacks.corruptions.clean_photos import photographs
from tests.tiny import ConvNet, text

FOG = Cell("fog", 3)
CROP = Preprocessing(crop=224, resize=256)
MODEL = Classifier(ConvNet(1000), CROP, ModelRecord("convnet"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return open_dataset(photographs(tmp_path_factory.mktemp("clean") / "val"))


def files(folder: Path, data: Dataset, shade: int = 0, side: int = 224) -> None:
    for index, name in enumerate(data.ids):
        path = (folder / name).with_suffix(".JPEG")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (side, side), (20 * index, 99, shade)).save(path, quality=100)


def packed(tar: Path, folder: Path, name: str) -> Path:
    """An archive of a folder under some name; the folder is taken away."""
    tar.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(tar, "w") as archive:
        archive.add(folder, name)
    shutil.rmtree(folder)
    return tar


@pytest.mark.parametrize(
    ("tar", "name"),
    [("weather.tar", "fog"), ("weather.tar", "weather/fog"), ("mine.tar", "imagenet-c/fog")],
)
def test_archives_give_what_folders_give(
    tar: str, name: str, data: Dataset, tmp_path: Path
) -> None:
    for severity in (3, 30):
        files(tmp_path / "c" / "fog" / str(severity), data, severity)
    unpacked = open_official(tmp_path / "c", FOG)
    expected = [unpacked.pixels(data, index, CROP, seed=0).tobytes() for index in range(len(data))]
    described = unpacked.describe()
    archive = packed(tmp_path / "tars" / tar, tmp_path / "c" / "fog", name)
    for root in (archive.parent, archive):
        source = open_official(root, FOG)
        assert isinstance(source.folder, TarFiles)
        assert source.describe() == described
        assert source.missing(data) == 0
        source = pickle.loads(pickle.dumps(source))
        got = [source.pixels(data, index, CROP, seed=0).tobytes() for index in range(len(data))]
        assert got == expected
    absent = open_official(archive.parent, Cell("fog", 2))
    assert (absent.folder, absent.missing(data)) == (None, len(data))


def test_what_is_missing_or_changed_is_said(data: Dataset, tmp_path: Path) -> None:
    files(tmp_path / "fog" / "3", data.select([0, 1]))
    archive = packed(tmp_path / "weather.tar", tmp_path / "fog", "fog")
    source = open_official(tmp_path, FOG)
    assert source.missing(data) == len(data) - 2
    with pytest.raises(MissingImageError, match=r"weather\.tar/fog/3: n\d+/\w+ is not there"):
        source.pixels(data, 2, CROP, seed=0)
    archive.write_bytes(archive.read_bytes() + bytes(512))
    with pytest.raises(UnreadableError, match=r"weather\.tar was changed after it was opened"):
        source.pixels(data, 0, CROP, seed=0)
    with pytest.raises(UserError, match=r"is not a folder or a \.tar"):
        open_official(tmp_path / "gone.tar", FOG)


def test_what_the_suite_made_is_not_called_official(data: Dataset, tmp_path: Path) -> None:
    files(tmp_path / "c" / "fog" / "3", data)
    (tmp_path / "c" / RECORD).write_text(json.dumps({"jpeg": True, "side": 224}))
    archive = packed(tmp_path / "c.tar", tmp_path / "c", "c")
    assert open_official(archive, FOG).source == "generated-jpeg85"


def test_an_evaluation_of_archives_has_the_records_of_folders(
    data: Dataset, tmp_path: Path
) -> None:
    files(tmp_path / "c" / "fog" / "3", data, 7)
    conditions = {FOG.id: corruption_condition("fog", 3, folder=tmp_path / "c")}
    before = text(evaluate(MODEL, data, conditions, out=tmp_path / "a").records())
    packed(tmp_path / "c" / "weather.tar", tmp_path / "c" / "fog", "fog")
    conditions = {FOG.id: corruption_condition("fog", 3, folder=tmp_path / "c")}
    assert text(evaluate(MODEL, data, conditions, out=tmp_path / "b").records()) == before


@pytest.mark.parametrize(("family", "name"), [(key, names[0]) for key, names in OTHER_SETS.items()])
def test_other_sets_have_names_of_their_own_and_are_no_part_of_mce(
    family: str, name: str, data: Dataset, tmp_path: Path
) -> None:
    files(tmp_path / "c" / name / "5", data)
    condition = corruption_condition(name, 5, folder=tmp_path / "c")
    assert (condition.id, condition.attack) == (f"{family}/{name}/5", family)
    assert family in CORRUPTED
    assert family != PREFIX
    run = evaluate(MODEL, data, {condition.id: condition}, out=tmp_path / "run")
    (row,) = results(run.folder).to_dict("records")
    assert (row["condition"], row["source"], row["status"]) == (condition.id, family, "ok")
    assert parse_corruptions(family) == OTHER_SETS[family]
    with pytest.raises(UserError, match=f"{family} is read from its files and not made here"):
        corruption_condition(name, 5)


@pytest.fixture(scope="module")
def cifar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``test.npz`` with 20 images, and ``c/fog.npy`` with the same, darker by severity."""
    root = tmp_path_factory.mktemp("cifar")
    draw = np.random.default_rng(0)
    images = draw.integers(100, 256, (20, 32, 32, 3), np.uint8)
    labels = draw.integers(0, 10, 20)
    np.savez(root / "test.npz", images=images, labels=labels)
    (root / "c").mkdir()
    np.save(root / "c" / "fog.npy", np.concatenate([images - 9 * s for s in range(1, 6)]))
    np.save(root / "c" / "labels.npy", np.tile(labels, 5))
    return root


def test_arrays_of_cifar_c_are_matched_by_position_and_label(cifar: Path) -> None:
    data = open_dataset(cifar / "test.npz")
    source = open_official(cifar / "c", FOG)
    assert (source.source, source.side, source.missing(data)) == ("cifar-c", 32, 0)
    native = Preprocessing(crop=32, resize=None)
    for index in (0, 7, 19):
        expected = data.pixels(index, native) - 9 * 3
        np.testing.assert_array_equal(source.pixels(data, index, native, seed=0), expected)
    limited = data.select([5, 3])
    np.testing.assert_array_equal(
        source.pixels(limited, 1, native, seed=0), data.pixels(3, native) - 9 * 3
    )
    turned = replace(data, labels=tuple((label + 1) % 10 for label in data.labels))
    assert source.missing(turned) == 20
    condition = corruption_condition("fog", 3, folder=cifar / "c")
    assert condition.flags == ("not-imagenet-c-32px",)


def test_an_array_of_cifar_c_is_never_scored_as_clean(cifar: Path, tmp_path: Path) -> None:
    data = open_dataset(cifar / "c" / "fog.npy", labels=cifar / "c" / "labels.npy")
    model = Classifier(ConvNet(10), Preprocessing(32, 32), ModelRecord("convnet"))
    with pytest.raises(UserError, match=r"five times over.*; give the clean test set as"):
        evaluate(model, data, "clean", out=tmp_path / "run")
    np.save(tmp_path / "fog.npy", np.zeros((7, 32, 32, 3), np.uint8))
    np.save(tmp_path / "labels.npy", np.zeros(7, np.int64))
    with pytest.raises(UserError, match=r"right are uint8 \(5 x N, H, H, 3\)"):
        open_official(tmp_path, FOG)


def test_files_of_other_sets_may_have_another_size(data: Dataset, tmp_path: Path) -> None:
    files(tmp_path / "fog_3d" / "1", data, side=256)
    source = open_official(tmp_path, Cell("fog_3d", 1))
    assert source.pixels(data, 1, CROP, seed=0).shape == (224, 224, 3)
