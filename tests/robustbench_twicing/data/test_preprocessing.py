"""How a photograph becomes pixels, and what is refused."""

import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.data.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from robustbench_twicing.errors import UserError


def test_only_what_is_given_is_overridden() -> None:
    family = Preprocessing(224, 256)
    assert family.override() == family
    assert family.override(crop=None, mean=None) == family
    changed = family.override(interpolation="bilinear", mean=(0.5, 0.5, 0.5), resize=None)
    assert changed == Preprocessing(224, 256, "bilinear", mean=(0.5, 0.5, 0.5))
    assert family.interpolation == "bicubic"


def test_parts_are_plain_values() -> None:
    parts = Preprocessing(224, 256).as_dict()
    assert parts == {
        "crop": 224,
        "resize": 256,
        "interpolation": "bicubic",
        "mean": IMAGENET_MEAN,
        "std": IMAGENET_STD,
        "squash": False,
    }
    json.dumps(parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"crop": 0}, "do not fit"),
        ({"crop": 257}, "resize 256 and crop 257 do not fit"),
        ({"interpolation": "cubic"}, "interpolation 'cubic' is unknown. Did you mean 'bicubic'"),
        ({"std": (0.1, 0.0, 0.1)}, "must be positive"),
        ({"std": (0.1, -0.1, 0.1)}, "must be positive"),
        ({"std": (0.1, float("nan"), 0.1)}, "finite"),
        ({"mean": (float("inf"), 0.0, 0.0)}, "finite"),
    ],
)
def test_parts_that_make_no_sense_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Preprocessing(224, 256).override(**parts)


def test_a_crop_of_the_whole_side_is_allowed() -> None:
    assert Preprocessing(256, 256).crop == 256
    assert Preprocessing(1, None).crop == 1


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "lanczos"])
def test_reduction_averages_columns_instead_of_picking_one(interpolation: Any) -> None:
    columns = np.zeros((24, 24, 3), np.uint8)
    columns[:, 1::3] = 255
    pixels = Preprocessing(8, 8, interpolation).pixels(Image.fromarray(columns))
    assert pixels.shape == (8, 8, 3)
    assert np.abs(pixels[:, 2:6].astype(int) - 85).max() <= 30


def test_without_a_resize_the_middle_is_cut_out() -> None:
    image = np.arange(10 * 10 * 3, dtype=np.uint8).reshape(10, 10, 3)
    pixels = Preprocessing(4, None).pixels(Image.fromarray(image))
    np.testing.assert_array_equal(pixels, image[3:7, 3:7])
