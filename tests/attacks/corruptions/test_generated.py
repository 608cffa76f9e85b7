"""Images corrupted on the fly: the official recipe, whatever the model's own preprocessing is."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from attacks import corruption_condition
from attacks.corruptions import GeneratedImages, corrupt, image_rng
from attacks.corruptions.generated import clean_crop
from attacks.corruptions.imaging.pixels import Pixels
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from tests.attacks.corruptions.clean_photos import photographs

MODEL = Preprocessing(crop=224, resize=248)
NAMES = ("gaussian_noise", "glass_blur", "fog", "spatter")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return open_dataset(photographs(tmp_path_factory.mktemp("clean")))


def wanted(data: Dataset, index: int, name: str, severity: int, **how: Any) -> Pixels:
    """As the golden files' README says, step by step with Pillow alone."""
    path = data.images.files[index].path  # type: ignore[attr-defined]
    with Image.open(path) as image:
        width, height = image.size
        scale = 256 / min(width, height)
        size = (int(width * scale), int(height * scale))
        resized = image.convert("RGB").resize(size, Image.Resampling.BILINEAR)
    left, top = round((size[0] - 224) / 2), round((size[1] - 224) / 2)
    cut = np.asarray(resized.crop((left, top, left + 224, top + 224)))
    rng = image_rng(how.pop("seed", 0), name, severity, data.ids[index])
    return corrupt(cut, name, severity, rng, **how)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_recipe_is_the_benchmarks(name: str, data: Dataset) -> None:
    for index in (0, 3):
        found = GeneratedImages(name, 3).pixels(data, index, MODEL, seed=0)
        np.testing.assert_array_equal(found, wanted(data, index, name, 3))
    bare = GeneratedImages(name, 3, jpeg=False).pixels(data, 0, MODEL, seed=5)
    np.testing.assert_array_equal(bare, wanted(data, 0, name, 3, jpeg_quality=None, seed=5))


def test_a_larger_model_gets_the_corrupted_image_resized_and_not_cropped(data: Dataset) -> None:
    large = Preprocessing(crop=384, resize=440, interpolation="bicubic")
    found = GeneratedImages("fog", 2).pixels(data, 1, large, seed=0)
    small = Image.fromarray(wanted(data, 1, "fog", 2))
    np.testing.assert_array_equal(found, small.resize((384, 384), Image.Resampling.BICUBIC))


def test_nothing_but_seed_corruption_severity_and_image_decides_the_draws(data: Dataset) -> None:
    def made(seed: int, index: int, severity: int = 3) -> bytes:
        source = GeneratedImages("gaussian_noise", severity)
        return source.pixels(data, index, MODEL, seed=seed).tobytes()

    first = made(0, 1)
    assert made(0, 2) != first
    assert made(1, 1) != first
    assert made(0, 1, severity=4) != first
    assert made(0, 1) == first
    part = data.select([1])
    again = GeneratedImages("gaussian_noise", 3).pixels(part, 0, MODEL, seed=0)
    assert again.tobytes() == first


def test_small_arrays_are_corrupted_at_their_size(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), dtype=np.uint8)
    np.savez(tmp_path / "small.npz", images=images, labels=np.array([0, 1]))
    data = open_dataset(tmp_path / "small.npz")
    source = GeneratedImages("contrast", 3, jpeg=False, side=32)
    found = source.pixels(data, 1, Preprocessing(crop=32, resize=None), seed=0)
    rng = image_rng(0, "contrast", 3, data.ids[1])
    np.testing.assert_array_equal(found, corrupt(images[1], "contrast", 3, rng, jpeg_quality=None))
    assert clean_crop(32) == Preprocessing(crop=32, resize=36, interpolation="bilinear")


def test_the_samples_of_any_machine_can_be_corrupted() -> None:
    samples = open_dataset("samples:imagenet")
    found = GeneratedImages("brightness", 1).pixels(samples, 19, MODEL, seed=0)
    assert found.shape == (224, 224, 3)


def test_what_decides_the_pixels_is_written_down() -> None:
    assert GeneratedImages("fog", 3, frost_dir="x").describe() == {
        "source": "generated-jpeg85",
        "corruption": "fog",
        "severity": 3,
        "jpeg": True,
        "side": 224,
    }
    assert GeneratedImages("fog", 3, jpeg=False).describe()["source"] == "generated-memory"


def test_a_condition_has_no_budget_and_says_where_its_images_are_from() -> None:
    condition = corruption_condition("fog", 3, jpeg=False, protocol="paper")
    assert condition.key == "paper:imagenet-c/fog/3"
    assert condition.attack == "imagenet-c"
    assert condition.eps == 0
    assert condition.sweep is None
    assert not condition.white_box
    assert condition.units == 1
    assert "about a quarter stronger" in condition.notes[0]
    assert "its random draws" not in condition.notes[0]
    assert "random draws are others" in corruption_condition("fog", 3).notes[0]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("mist", 3), {}, "no corruption is called 'mist'"),
        (("fog", 0), {}, "severity 0 does not exist"),
        (("fog", 6), {}, "severity 6 does not exist"),
        (("fog", 3), {"side": 31}, "images of 31 pixels cannot be corrupted; give 32 or more"),
        (("fog", 3), {"folder": "x", "jpeg": False}, "images from files are used as they are"),
        (("fog", 3), {"folder": "x", "side": 32}, "images from files are used as they are"),
        (("fog", 3), {"folder": "nowhere"}, "nowhere is not a folder"),
    ],
)
def test_mistakes_are_explained(
    arguments: tuple[str, int], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        corruption_condition(*arguments, **options)


def test_missing_photographs_of_frost_are_known_beforehand(tmp_path: Path) -> None:
    assert (
        "frost needs frost1.png" in GeneratedImages("frost", 1, frost_dir=str(tmp_path)).lacking()
    )
    assert GeneratedImages("fog", 1, frost_dir=str(tmp_path)).lacking() == ""
