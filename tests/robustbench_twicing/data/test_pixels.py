"""Pixels of files are, bit for bit, those of torchvision's evaluation transform."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision import transforms
from torchvision.datasets.folder import pil_loader

from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Interpolation, Preprocessing

SIZES = [(500, 375), (375, 500), (333, 257), (256, 256), (1024, 683), (17, 31), (231, 2000)]


def torchvision_pixels(path: Path, preprocessing: Preprocessing) -> np.ndarray:
    mode = transforms.InterpolationMode(preprocessing.interpolation)
    resize = [transforms.Resize(preprocessing.resize, mode)] if preprocessing.resize else []
    transform = transforms.Compose([*resize, transforms.CenterCrop(preprocessing.crop)])
    return np.asarray(transform(pil_loader(path)))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("resize", "crop", "interpolation"),
    [(256, 224, "bicubic"), (256, 224, "bilinear"), (248, 224, "bicubic"), (64, 33, "bicubic")],
)
def test_equals_torchvision_on_odd_sizes(
    size: tuple[int, int], resize: int, crop: int, interpolation: Interpolation, tmp_path: Path
) -> None:
    width, height = size
    array = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    path = tmp_path / "n01440764" / "picture.png"
    path.parent.mkdir()
    Image.fromarray(array).save(path)
    preprocessing = Preprocessing(crop, resize, interpolation)
    pixels = open_dataset(tmp_path).pixels(0, preprocessing)
    assert pixels.shape == (crop, crop, 3)
    assert pixels.dtype == np.uint8
    np.testing.assert_array_equal(pixels, torchvision_pixels(path, preprocessing))


@pytest.mark.slow
def test_equals_torchvision_on_photographs(shared: Path) -> None:
    root = shared / "data" / "imagenet-val-100"
    preprocessing = Preprocessing(224, 256)
    dataset = open_dataset(root)
    for index in range(0, 100, 12):
        np.testing.assert_array_equal(
            dataset.pixels(index, preprocessing),
            torchvision_pixels(root / dataset.ids[index], preprocessing),
        )
