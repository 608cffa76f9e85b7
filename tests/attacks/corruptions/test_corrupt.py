"""What every corruption keeps, over the whole table."""

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.random import RandomState
from PIL import Image

from attacks.corruptions import (
    CORRUPTIONS,
    EXTRA,
    MAIN,
    SEVERITIES,
    corrupt,
    image_rng,
    is_imagenet_c_size,
)
from attacks.corruptions.imaging.pixels import Pixels
from robustbench_twicing.errors import UserError

WITHOUT_FROST = [name for name in CORRUPTIONS if name != "frost"]


def test_fifteen_corruptions_count_and_four_are_extra() -> None:
    assert len(MAIN) == 15
    assert EXTRA == ("speckle_noise", "gaussian_blur", "spatter", "saturate")
    assert set(MAIN) | set(EXTRA) <= set(CORRUPTIONS)
    archives = {name: CORRUPTIONS[name].group for name in ("brightness", "contrast", "fog")}
    assert archives == {"brightness": "weather", "contrast": "digital", "fog": "weather"}


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT_FROST)
@given(data=st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_image_gives_an_image_of_its_shape(name: str, data: st.DataObject) -> None:
    height, width = (data.draw(st.integers(32, 70), label=side) for side in ("height", "width"))
    grey = CORRUPTIONS[name].grey and data.draw(st.booleans(), label="grey")
    severity = data.draw(st.sampled_from(SEVERITIES), label="severity")
    seed = data.draw(st.integers(0, 2**32 - 1), label="seed")
    shape = (height, width) if grey else (height, width, 3)
    filling = data.draw(st.sampled_from(["noise", "black", "white", "red"]), label="filling")
    image = RandomState(seed).randint(0, 256, shape).astype(np.uint8)
    if filling != "noise":
        image[:] = 0 if filling == "black" else 255
    if filling == "red" and not grey:
        image[..., 1:] = 0
    before = image.copy()
    image.flags.writeable = False

    out = corrupt(image, name, severity, RandomState(seed), jpeg_quality=None)

    assert out.dtype == np.uint8
    assert out.shape == shape
    assert out.flags.c_contiguous
    assert out.flags.writeable
    assert not np.shares_memory(out, image)
    np.testing.assert_array_equal(image, before)
    again = corrupt(image, name, severity, RandomState(seed), jpeg_quality=None)
    np.testing.assert_array_equal(out, again)


@pytest.mark.slow
@pytest.mark.usefixtures("frost")
@given(height=st.integers(32, 70), width=st.integers(32, 70), severity=st.sampled_from(SEVERITIES))
@settings(max_examples=20, deadline=None)
def test_frost_on_any_image_gives_an_image_of_its_shape(
    height: int, width: int, severity: int
) -> None:
    image = RandomState(height).randint(0, 256, (height, width, 3)).astype(np.uint8)
    before = image.copy()
    out = corrupt(image, "frost", severity, RandomState(width), jpeg_quality=None)
    assert out.dtype == np.uint8
    assert out.shape == image.shape
    np.testing.assert_array_equal(image, before)
    again = corrupt(image, "frost", severity, RandomState(width), jpeg_quality=None)
    np.testing.assert_array_equal(out, again)


@pytest.mark.parametrize("shape", [(32, 411), (411, 32), (256, 257), (225, 224)])
@pytest.mark.parametrize("name", [name for name in (*MAIN, *EXTRA) if name != "frost"])
def test_long_and_large_images_are_corrupted_to_their_edges(
    name: str, shape: tuple[int, int]
) -> None:
    image = RandomState(0).randint(60, 200, (*shape, 3)).astype(np.uint8)
    out = corrupt(image, name, 5, RandomState(1), jpeg_quality=None)
    assert out.shape == image.shape
    changed = (out != image).any(axis=2)
    for edge in (changed[0], changed[-1], changed[:, 0], changed[:, -1]):
        assert edge.mean() > 0.05


@pytest.mark.parametrize("name", WITHOUT_FROST)
def test_how_an_image_lies_in_memory_does_not_matter(name: str, scene: Pixels) -> None:
    copy = np.ascontiguousarray(scene[10:90:2, 5:85])
    wanted = corrupt(copy, name, 3, RandomState(1), jpeg_quality=None)
    for image in (scene[10:90:2, 5:85], np.asfortranarray(copy)):
        out = corrupt(image, name, 3, RandomState(1), jpeg_quality=None)
        np.testing.assert_array_equal(out, wanted)
        assert out.flags.c_contiguous


def outputs(image: Pixels, names: list[str], workers: int) -> list[Pixels]:
    with ThreadPoolExecutor(workers) as pool:
        results = [
            pool.submit(corrupt, image, name, 2, image_rng(7, name, 2, "a.jpg")) for name in names
        ]
        return [each.result() for each in results]


@pytest.mark.slow
def test_order_and_threads_change_nothing(scene: Pixels) -> None:
    image = scene[:64, :96]
    alone = outputs(image, WITHOUT_FROST, 1)
    together = outputs(image, WITHOUT_FROST[::-1], 4)[::-1]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_numpys_global_stream_is_neither_used_nor_moved(scene: Pixels) -> None:
    image = scene[:40, :40]
    np.random.seed(3)  # noqa: NPY002
    wanted = np.random.random_sample(4)  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    for name in WITHOUT_FROST:
        corrupt(image, name, 1, RandomState(0))
    np.testing.assert_array_equal(np.random.random_sample(4), wanted)  # noqa: NPY002


def test_the_file_format_of_the_official_images_is_part_of_it_unless_left_out(
    scene: Pixels,
) -> None:
    bare = corrupt(scene, "gaussian_noise", 3, RandomState(0), jpeg_quality=None)
    stored = corrupt(scene, "gaussian_noise", 3, RandomState(0))
    file = io.BytesIO()
    Image.fromarray(bare).save(file, "JPEG", quality=85, optimize=True, subsampling="4:2:0")
    np.testing.assert_array_equal(stored, np.asarray(Image.open(file)))
    weakened = np.std(stored - scene.astype(float)) / np.std(bare - scene.astype(float))
    assert 0.6 < weakened < 0.9


@pytest.mark.parametrize(
    ("image", "name", "severity", "quality", "said"),
    [
        (np.zeros((64, 64, 3), np.uint8), "gausian_noise", 1, 85, "Did you mean 'gaussian_noise'"),
        (np.zeros((64, 64, 3), np.uint8), "fog", 0, 85, "severity 0 does not exist"),
        (np.zeros((64, 64, 3), np.uint8), "fog", 6, 85, "severity 6 does not exist"),
        (np.zeros((64, 64, 3), np.float32), "fog", 1, 85, "got an array of float32"),
        (np.zeros((3, 64, 64), np.uint8), "fog", 1, 85, r"uint8 \(3, 64, 64\)"),
        (np.zeros((64, 64, 4), np.uint8), "fog", 1, 85, r"uint8 \(64, 64, 4\)"),
        (np.zeros((31, 64, 3), np.uint8), "fog", 1, 85, "got 31 x 64 pixels"),
        (np.zeros((64, 64), np.uint8), "saturate", 1, 85, "needs an RGB image"),
        (np.zeros((64, 64), np.uint8), "spatter", 1, 85, "needs an RGB image"),
        (np.zeros((64, 64), np.uint8), "frost", 1, 85, "needs an RGB image"),
        (np.zeros((64, 64, 3), np.uint8), "fog", 1, 0, "quality 0 is out of range"),
        (np.zeros((64, 64, 3), np.uint8), "fog", 1, 96, "quality 96 is out of range"),
    ],
)
def test_mistakes_are_explained(
    image: Pixels, name: str, severity: int, quality: int, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        corrupt(image, name, severity, RandomState(0), jpeg_quality=quality)


def test_only_224_pixels_are_imagenet_c() -> None:
    assert is_imagenet_c_size(np.zeros((224, 224, 3), np.uint8))
    assert is_imagenet_c_size(np.zeros((224, 224), np.uint8))
    assert not is_imagenet_c_size(np.zeros((224, 225, 3), np.uint8))
    assert not is_imagenet_c_size(np.zeros((3, 224, 224), np.uint8))


def test_large_images_get_a_larger_fog(scene: Pixels) -> None:
    tall = np.tile(scene, (2, 1, 1))
    out = corrupt(tall, "fog", 3, RandomState(0), jpeg_quality=None)
    assert out.shape == tall.shape
    assert not np.array_equal(out[:224], out[224:])


@pytest.mark.slow
def test_stronger_is_stronger(scene: Pixels) -> None:
    names = ("gaussian_noise", "gaussian_blur", "defocus_blur", "contrast")
    for name in names:
        change = [
            np.abs(corrupt(scene, name, severity, RandomState(0)).astype(int) - scene).mean()
            for severity in SEVERITIES
        ]
        assert change == sorted(change), name
        assert change[0] > 0
