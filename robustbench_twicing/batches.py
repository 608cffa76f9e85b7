"""Batches of decoded images, the next one being decoded while the last is attacked."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .data import BadImageError, Dataset
from .preprocessing import Preprocessing


class Unreadable(NamedTuple):
    """An image that cannot be decoded: its position in the data set, and why."""

    position: int
    error: BadImageError


class LoadedBatch(NamedTuple):
    """One range of images.

    Attributes:
        part: number of the range.
        indices: positions in the data set of the images that were decoded.
        pixels: uint8 (N, H, W, 3).
        unreadable: the images of the range that could not be decoded.
    """

    part: int
    indices: tuple[int, ...]
    pixels: NDArray[np.uint8]
    unreadable: tuple[Unreadable, ...]


def load_batches(
    data: Dataset,
    preprocessing: Preprocessing,
    parts: Iterable[int],
    *,
    batch_size: int,
    skip_bad: bool,
) -> Iterator[LoadedBatch]:
    """Decode the images of each part, one part ahead.

    Args:
        data: the images.
        preprocessing: resize and crop.
        parts: which ranges of ``batch_size`` images.
        batch_size: images per range; the last one may be shorter.
        skip_bad: list an image that cannot be decoded instead of stopping.

    Raises:
        BadImageError: with its path, for an image that cannot be decoded, unless ``skip_bad``.
    """

    def load(part: int) -> LoadedBatch:
        start = part * batch_size
        return _load(data, preprocessing, part, range(start, min(start + batch_size, len(data))))

    with ThreadPoolExecutor(1, thread_name_prefix="decode") as executor:
        for batch in _one_ahead(executor, load, parts):
            if batch.unreadable and not skip_bad:
                raise batch.unreadable[0].error
            yield batch


def _one_ahead(
    executor: ThreadPoolExecutor, load: Callable[[int], LoadedBatch], parts: Iterable[int]
) -> Iterator[LoadedBatch]:
    waiting = None
    for part in parts:
        following = executor.submit(load, part)
        if waiting is not None:
            yield waiting.result()
        waiting = following
    if waiting is not None:
        yield waiting.result()


def _load(
    data: Dataset, preprocessing: Preprocessing, part: int, indices: Sequence[int]
) -> LoadedBatch:
    good, arrays, bad = [], [], []
    for index in indices:
        try:
            arrays.append(data.pixels(index, preprocessing))
        except BadImageError as error:
            bad.append(Unreadable(index, error))
        else:
            good.append(index)
    crop = preprocessing.crop
    pixels = np.stack(arrays) if arrays else np.empty((0, crop, crop, 3), np.uint8)
    return LoadedBatch(part, tuple(good), pixels, tuple(bad))


def to_tensor(pixels: NDArray[np.uint8], device: torch.device) -> Tensor:
    """uint8 (N, H, W, 3) to float32 pixels (N, 3, H, W) in [0, 1]."""
    return torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).contiguous().float() / 255


def pixels_hash(pixels: NDArray[np.uint8]) -> str:
    """First 16 hex digits of the SHA-256 of one image's pixels, to tell whether two runs saw it."""
    return hashlib.sha256(pixels.tobytes()).hexdigest()[:16]
