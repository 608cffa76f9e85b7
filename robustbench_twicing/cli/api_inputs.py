"""Images and labels as Python has them: names, tensors, and data sets of torch."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data import Dataset as TorchDataset

from ..data.arrays import ArrayImages
from ..data.dataset import Dataset, limit_dataset
from ..data.opening import open_dataset
from ..errors import UserError

Data = Dataset | str | Path | Sequence[Any] | TorchDataset[Any] | DataLoader[Any]
DATA = (
    'data is a folder, a name like "samples:imagenet", a data set of this package, a pair of '
    "images and labels (tensors or arrays), or a Dataset or DataLoader of torch"
)
IMAGES = "images are uint8, or float32 in [0, 1], of shape (N, 3, H, W) or (N, 1, H, W)"
ROUNDING = 1e-4
"""How far 255 times a float32 pixel may lie from a whole number that it stands for."""


def open_data(data: Data, *, limit: int | None, seed: int, num_classes: int | None) -> Dataset:
    """Labelled images from what a script gives; see `DATA`.

    Tensors are evaluated as they are, and therefore must be 8-bit images: uint8, or float32 in
    [0, 1] with every pixel a multiple of 1/255. They are held in memory.

    Args:
        data: what to evaluate on.
        limit: keep this many images, spread over the classes.
        seed: of that choice.
        num_classes: length of the label space, where the data do not say it.

    Raises:
        TypeError: something else than is accepted.
        UserError: as `open_dataset`, images or labels that are not of the right form, or others
            when they are read a second time.
    """
    if isinstance(data, Dataset):
        dataset = data
    elif isinstance(data, (str, Path)):
        dataset = open_dataset(data)
    elif isinstance(data, (tuple, list)) and len(data) == 2:
        dataset = _dataset("tensors", _as_images(data[0]), _as_labels(data[1]))
    elif isinstance(data, DataLoader):
        _check_order(data)
        dataset = _from_batches(data)
    elif isinstance(data, TorchDataset):
        dataset = _from_batches(DataLoader(data, batch_size=256, collate_fn=_collate))
    else:
        raise TypeError(f"{DATA}; not {type(data).__name__}")
    if num_classes is not None and dataset.num_classes not in (None, num_classes):
        raise UserError(
            f"num_classes={num_classes} is given, and {dataset.name} has {dataset.num_classes}; "
            "leave num_classes out"
        )
    if num_classes is not None:
        dataset = replace(dataset, num_classes=num_classes)
    return dataset if limit is None else limit_dataset(dataset, limit, seed=seed)


def _check_order(loader: DataLoader[Any]) -> None:
    batches = loader.batch_sampler
    for sampler in (loader.sampler, getattr(batches, "sampler", None)):
        if isinstance(sampler, (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)):
            raise UserError(
                "the DataLoader shuffles, and images are known by their position; make it with "
                "shuffle=False"
            )
    if loader.drop_last or getattr(batches, "drop_last", False):
        raise UserError("the DataLoader leaves images out; make it with drop_last=False")


def _collate(items: Sequence[Any]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if any(not isinstance(item, (tuple, list)) or len(item) != 2 for item in items):
        raise UserError("the data do not give pairs of an image and a label")
    images, labels = zip(*items, strict=True)
    arrays = [_as_images(image)[0] for image in images]
    _check_one_form(arrays)
    return np.stack(arrays), _as_labels(labels)


def _check_one_form(images: Sequence[NDArray[np.uint8]]) -> None:
    if len({image.shape[-3:] for image in images}) > 1:
        raise UserError(
            "the images are not of one size and number of channels; make them so, or give a folder"
        )


def _from_batches(batches: Iterable[Any]) -> Dataset:
    images, labels = [], []
    for batch in batches:
        batch_images, batch_labels = _pair(batch)
        images.append(batch_images)
        labels.append(batch_labels)
    if not images:
        raise UserError("the data hold no image")
    _check_one_form(images)
    _check_read_again(batches, images[0], labels[0])
    return _dataset("torch-dataset", np.concatenate(images), np.concatenate(labels))


def _pair(batch: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise UserError(f"the data give {type(batch).__name__}, not pairs of images and labels")
    images = batch[0] if isinstance(batch[0], np.ndarray) else _as_images(batch[0])
    return images, _as_labels(batch[1])


def _check_read_again(
    batches: Iterable[Any], images: NDArray[np.uint8], labels: NDArray[np.int64]
) -> None:
    """Refuse data whose first batch is another one when it is read a second time."""
    with torch.random.fork_rng(devices=[]):
        batch = next(iter(batches), None)
    if batch is None:
        return  # a stream that can be read once
    again, labels_again = _pair(batch)
    if not (np.array_equal(images, again) and np.array_equal(labels, labels_again)):
        raise UserError(
            "the data give other images or labels when they are read again (a random transform, or "
            "a shuffle), so that nobody could repeat the numbers; give them without it"
        )


def _dataset(name: str, images: NDArray[np.uint8], labels: NDArray[np.int64]) -> Dataset:
    if len(images) != len(labels) or not len(labels):
        raise UserError(f"{len(images)} images have {len(labels)} labels; give one for each")
    if labels.min() < 0:
        raise UserError(f"label {labels.min()} is not a class; they are 0 and up")
    return Dataset(
        name=name,
        ids=tuple(f"{index:06d}" for index in range(len(images))),
        labels=tuple(int(label) for label in labels),
        images=ArrayImages(images, range(len(images))),
        num_classes=None,
        labelling="class indices in memory",
        source="memory",
    )


def _as_labels(labels: Any) -> NDArray[np.int64]:
    values = np.asarray(labels.cpu() if isinstance(labels, Tensor) else labels)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise UserError(
            f"labels are {values.dtype} of shape {values.shape}; they are whole numbers, one each"
        )
    return values.astype(np.int64)


def _as_images(images: Any) -> NDArray[np.uint8]:
    """As uint8 (N, C, H, W); one image without a batch counts as a batch of one."""
    if isinstance(images, Image.Image):
        return np.asarray(images.convert("RGB")).transpose(2, 0, 1)[None]
    values = images.detach().cpu().numpy() if isinstance(images, Tensor) else np.asarray(images)
    if values.ndim == 3:
        values = values[None]
    if values.ndim != 4 or values.shape[1] not in (1, 3):
        raise UserError(f"images have the shape {values.shape}; {IMAGES}")
    if values.dtype == np.uint8:
        return values
    if values.dtype not in (np.float32, np.float64):
        raise UserError(f"images are {values.dtype}; {IMAGES}")
    low, high = float(values.min()), float(values.max())
    if not (low >= 0 and high <= 1):
        raise UserError(
            f"pixels go from {low:g} to {high:g}; {IMAGES}. For a network that takes normalised "
            "input give pixels, and mean= and std="
        )
    levels = values * 255
    rounded = levels.round()
    if np.abs(levels - rounded).max() > ROUNDING:
        raise UserError(
            "the pixels are no multiples of 1/255, and only 8-bit images are evaluated, so that "
            "every number is of images that a file can hold; give (x * 255).round() / 255"
        )
    return rounded.astype(np.uint8)
