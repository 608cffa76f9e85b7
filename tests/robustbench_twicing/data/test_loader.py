"""Decoding in parts, two parts ahead."""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pytest
import torch

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.data.image_maker import Maker
from robustbench_twicing.data.loader import LoadedBatch, load_batches, pixels_hash, to_tensor
from robustbench_twicing.data.preprocessing import Preprocessing
from tests.tiny import PREPROCESSING, dataset, noise


def load(
    data: Dataset, parts: Sequence[int], size: int, *, skip: bool = False
) -> list[LoadedBatch]:
    return list(load_batches(Maker(data, PREPROCESSING), parts, batch_size=size, skip_bad=skip))


@pytest.mark.parametrize(
    ("size", "lengths"), [(4, [4, 4, 3]), (11, [11]), (64, [11]), (1, [1] * 11)]
)
def test_every_image_is_in_one_part_in_order(size: int, lengths: list[int]) -> None:
    data = noise(11)
    batches = load(data, range(len(lengths)), size)
    assert [len(batch.indices) for batch in batches] == lengths
    assert [index for batch in batches for index in batch.indices] == list(range(11))
    for batch in batches:
        for index, pixels in zip(batch.indices, batch.pixels, strict=True):
            np.testing.assert_array_equal(pixels, data.pixels(index, PREPROCESSING))


def test_parts_come_in_the_order_asked_for() -> None:
    batches = load(noise(11), [2, 0], 4)
    assert [(batch.part, batch.indices[0]) for batch in batches] == [(2, 8), (0, 0)]
    assert load(noise(11), [], 4) == []


def test_the_first_bad_image_stops_after_the_parts_before_it() -> None:
    maker = Maker(noise(11, bad=[5, 6]), PREPROCESSING)
    batches = load_batches(maker, range(3), batch_size=4, skip_bad=False)
    assert next(batches).part == 0
    with pytest.raises(BadImageError, match=r"/photos/5\.png"):
        next(batches)


def test_bad_images_are_listed_where_they_are_skipped() -> None:
    data = noise(11, bad=[4, 5, 6, 7, 9])
    batches = load(data, range(3), 4, skip=True)
    assert [batch.indices for batch in batches] == [(0, 1, 2, 3), (), (8, 10)]
    bad = [[each.position for each in batch.absent] for batch in batches]
    assert bad == [
        [],
        [4, 5, 6, 7],
        [9],
    ]
    assert "/photos/9.png" in str(batches[2].absent[0].error)
    assert batches[1].pixels.shape == (0, 8, 8, 3)
    np.testing.assert_array_equal(batches[2].pixels[1], data.pixels(10, PREPROCESSING))


@dataclass(frozen=True)
class Recording:
    """Images that note which was asked for, and fail with a bug at one."""

    asked: list[int]
    broken: int = -1
    event: Any = None

    def pixels(self, index: int, preprocessing: Preprocessing) -> Any:
        """A black image."""
        self.asked.append(index)
        if self.event and index == 2:
            self.event.set()
        if index == self.broken:
            raise ZeroDivisionError
        return np.zeros((8, 8, 3), np.uint8)

    def picture(self, index: int) -> Any:
        """Not used."""

    def signature(self, index: int) -> str:
        """Not used."""
        return ""

    def select(self, indices: Sequence[int]) -> Self:
        """Not used."""
        return self


def recorded(images: Recording) -> Dataset:
    return Dataset("tiny", tuple("abcde"), (0,) * 5, images, num_classes=None, labelling="")


def test_while_the_network_has_one_part_the_next_two_are_decoded_and_no_more() -> None:
    images = Recording([], event=threading.Event())
    maker = Maker(recorded(images), PREPROCESSING)
    batches = load_batches(maker, range(5), batch_size=1, skip_bad=False)
    assert next(batches).part == 0
    assert images.event.wait(60)
    batches.close()
    assert images.asked == [0, 1, 2]


def test_a_bug_in_decoding_is_not_a_bad_image() -> None:
    maker = Maker(recorded(Recording([], broken=1)), PREPROCESSING)
    batches = load_batches(maker, range(3), batch_size=1, skip_bad=True)
    assert next(batches).part == 0
    with pytest.raises(ZeroDivisionError):
        next(batches)


def test_pixels_are_divided_by_255_and_channels_go_first() -> None:
    pixels = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    x = to_tensor(pixels, torch.device("cpu"))
    assert x.shape == (2, 3, 4, 5)
    assert x.dtype == torch.float32
    assert x.is_contiguous()
    assert x[1, 2, 3, 4].item() == np.float32(pixels[1, 3, 4, 2]) / np.float32(255)
    every = to_tensor(np.arange(256, dtype=np.uint8).reshape(1, 1, 256, 1), torch.device("cpu"))
    assert every.flatten().tolist() == (torch.arange(256) / 255).tolist()
    assert every.max() == 1


def test_pixels_are_told_apart_by_their_hash() -> None:
    pixels = np.zeros((2, 2, 3), np.uint8)
    assert pixels_hash(pixels) == hashlib.sha256(bytes(12)).hexdigest()[:16]
    other = pixels.copy()
    other[0, 0, 0] = 1
    assert pixels_hash(other) != pixels_hash(pixels)


def test_a_part_of_a_data_set_of_one_image() -> None:
    one = dataset(np.zeros((1, 8, 8, 3), np.uint8), [0])
    assert load(one, [0], 32)[0].indices == (0,)


def test_a_copy_to_a_gpu_is_from_pinned_memory_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[object] = []

    def pin(tensor: torch.Tensor) -> torch.Tensor:
        done.append("pinned")
        return tensor

    def to(tensor: torch.Tensor, device: torch.device, **options: Any) -> torch.Tensor:
        done.append((device.type, options))
        return tensor

    pixels = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    wanted = to_tensor(pixels, torch.device("cpu"))
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    monkeypatch.setattr(torch.Tensor, "to", to)
    found = to_tensor(pixels, torch.device("cuda"))
    assert done[:2] == ["pinned", ("cuda", {"non_blocking": True})]
    assert torch.equal(found, wanted)
