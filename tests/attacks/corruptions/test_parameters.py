"""One stream per seed, corruption, severity and image, and for nothing else."""

import itertools

import numpy as np
from numpy.random import RandomState

from attacks.corruptions import image_rng

# What numpy promises never to change.
STREAM = (1647384156, 948718824, 683214752, 364208632)


def first(rng: RandomState) -> tuple[int, ...]:
    return tuple(rng.randint(0, 2**31, 4).tolist())


def test_every_part_of_the_key_counts() -> None:
    keys = itertools.product((0, 1), ("fog", "snow"), (1, 2), ("a/1.jpg", "a/11.jpg"))
    streams = {first(image_rng(*key)) for key in keys}
    assert len(streams) == 16


def test_parts_do_not_run_together() -> None:
    assert first(image_rng(1, "fog", 1, "1")) != first(image_rng(11, "fog", 1, ""))
    assert first(image_rng(0, "fog", 1, "2x")) != first(image_rng(0, "fog", 12, "x"))


def test_the_stream_is_fixed() -> None:
    rng = image_rng(0, "gaussian_noise", 1, "n01440764/ILSVRC2012_val_00000293.JPEG")
    assert isinstance(rng, RandomState)
    assert first(rng) == STREAM
    again = image_rng(0, "gaussian_noise", 1, "n01440764/ILSVRC2012_val_00000293.JPEG")
    np.testing.assert_array_equal(again.randint(0, 2**31, 4), STREAM)
