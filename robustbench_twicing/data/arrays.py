"""Images in numpy files: one ``.npz`` with images and labels, or a pair of ``.npy``."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..errors import UserError
from ..files.arrays import Archive, ArrayFile, is_archive, open_archive
from ..files.printable import count
from .dataset import Dataset, Pixels
from .folders.class_folders import BY_NUMBER
from .folders.class_list import MOST_CLASSES, OwnClasses
from .imagenet import NUM_CLASSES
from .preprocessing import Preprocessing

IMAGE_KEYS = ("images", "x", "x_test")
LABEL_KEYS = ("labels", "y", "y_test")
Array = NDArray[Any] | ArrayFile
"""In memory, or read from its file image by image."""
RIGHT_FORM = "right are uint8 images (N, H, W, 3), (N, 3, H, W) or grey (N, H, W), and N labels"


@dataclass(frozen=True, eq=False)
class ArrayImages:
    """Rows of one array.

    Attributes:
        array: uint8 (N, H, W, 3), (N, 3, H, W), or grey: (N, H, W), (N, H, W, 1), (N, 1, H, W).
        rows: which of its N images these are.
    """

    array: Array
    rows: Sequence[int]

    @property
    def form(self) -> tuple[int, int, int]:
        """Height, width and channels (3, or 1 of grey images) of every image."""
        height, width, channels = _hwc(np.empty(self.array.shape[1:], np.uint8)).shape
        return height, width, channels

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """An image of the crop's size as it is, any other resized and cropped like a photograph.

        Returns:
            uint8 (crop, crop, 3); grey is repeated three times.
        """
        image = self._rgb(index)
        if image.shape[:2] == (preprocessing.crop, preprocessing.crop):
            return image
        return preprocessing.pixels(self.picture(index))

    def picture(self, index: int) -> Image.Image:
        """Row ``index`` as an RGB image; grey is repeated three times."""
        return Image.fromarray(self._rgb(index))

    def signature(self, index: int) -> str:
        """SHA-256 over shape and pixels."""
        image = np.ascontiguousarray(_hwc(self.array[self.rows[index]]))
        return hashlib.sha256(repr(image.shape).encode() + image.tobytes()).hexdigest()

    def select(self, indices: Sequence[int]) -> Self:
        """The images at these positions, in this order; the array is shared."""
        return type(self)(self.array, tuple(self.rows[index] for index in indices))

    def _rgb(self, index: int) -> Pixels:
        image = _hwc(self.array[self.rows[index]])
        return np.array(np.broadcast_to(image, (*image.shape[:2], 3)))


def open_arrays(
    path: Path, labels_path: Path | None, classes: OwnClasses | None, *, name: str = ""
) -> Dataset:
    """Open an array file; ids are positions, ``000000``, ``000001``, ...

    Args:
        path: ``.npz``, or ``.npy`` with the images alone.
        labels_path: ``.npy`` with the labels; needed where ``path`` does not hold them.
        classes: own classes; without them the length of the label space is unknown.
        name: of the data set; the file's name by default.

    Raises:
        UserError: not arrays, no labels, another dtype or shape, labels out of range.
    """
    images, labels = _load_pair(path, labels_path)
    _check_images(images, path)
    array_images = ArrayImages(images, range(len(images)))
    indices = _as_labels(labels, len(images), labels_path or path, classes)
    height, width, _ = array_images.form
    return Dataset(
        name=name or path.name,
        ids=tuple(f"{index:06d}" for index in array_images.rows),
        labels=indices,
        images=array_images,
        num_classes=classes.num_classes if classes is not None else None,
        labelling="class indices in an array",
        notes=(
            f"array images are {width} x {height} pixels: taken as they are by a model of that "
            "input size, otherwise resized and cropped like photographs",
            *(() if classes is not None else (BY_NUMBER,)),
        ),
        path=path,
    )


def _load_pair(path: Path, labels_path: Path | None) -> tuple[Array, Array]:
    if not is_archive(path):
        array = ArrayFile(path)
        if labels_path is None:
            raise UserError(f"{path} holds images without labels; give --labels labels.npy")
        return array, _load_labels(labels_path)
    with open_archive(path) as content:
        images = _member(content, IMAGE_KEYS)
        if labels_path is None:
            return images, _member(content, LABEL_KEYS)
        if any(key in content.names for key in LABEL_KEYS):
            raise UserError(f"{path} has labels of its own; leave --labels {labels_path} out")
        return images, _load_labels(labels_path)


def _load_labels(path: Path) -> Array:
    if path.suffix.lower() == ".json":
        raise UserError(
            f"{path}: labels in JSON are matched with images by name, and those of an array have "
            "none; give the images as files, or .npy with one label an image"
        )
    if not is_archive(path):
        return ArrayFile(path)
    with open_archive(path) as content:
        return _member(content, LABEL_KEYS)


def _member(content: Archive, keys: Sequence[str]) -> NDArray[Any]:
    key = next((key for key in keys if key in content.names), None)
    if key is None:
        raise UserError(
            f"{content.path} has no array called {keys[0]!r} (nor {' or '.join(keys[1:])}), "
            f"but {', '.join(content.names) or 'nothing'}"
        )
    return content.read(key)


def _check_images(images: Array, path: Path) -> None:
    shape = images.shape
    if images.dtype != np.uint8:
        raise UserError(f"{path} holds images of {images.dtype}; {RIGHT_FORM}")
    if len(shape) == 4 and shape[1] in (1, 3) and shape[3] in (1, 3):
        raise UserError(f"{path}: shape {shape} may be NCHW or NHWC; {RIGHT_FORM}")
    colour = len(shape) == 4 and (shape[1] in (1, 3) or shape[3] in (1, 3))
    if not (colour or len(shape) == 3) or 0 in shape:
        raise UserError(f"{path} holds an array of shape {shape}; {RIGHT_FORM}")


def _hwc(image: Pixels) -> Pixels:
    """One image of any right form as (H, W, 3) or (H, W, 1); the forms show in the shape."""
    if image.ndim == 2:
        return image[..., np.newaxis]
    return image if image.shape[2] in (1, 3) else image.transpose(1, 2, 0)


def _as_labels(
    labels: Array, images: int, path: Path, classes: OwnClasses | None
) -> tuple[int, ...]:
    if labels.shape not in ((images,), (images, 1)) or labels.dtype.kind not in "iu":
        raise UserError(
            f"{path} holds labels of shape {labels.shape} and {labels.dtype} for "
            f"{count(images, 'image')}; right are whole numbers, one per image"
        )
    values = labels.whole if isinstance(labels, ArrayFile) else labels
    indices = tuple(int(label) for label in values.ravel())
    limit = classes.num_classes if classes is not None else None
    if min(indices) > 0 and max(indices) == NUM_CLASSES and limit is None:
        raise UserError(f"{path}: labels go from {min(indices)} to 1000; classes count from 0")
    wrong = min(indices) if min(indices) < 0 else max(indices)
    if wrong < 0 or wrong >= (limit or MOST_CLASSES):
        end = f"to {limit - 1} ({limit} classes)" if limit is not None else "and up"
        raise UserError(f"{path}: label {wrong} is not a class; they are 0 {end}")
    return indices
