"""The files of Fashion-MNIST: gzip around the IDX format of MNIST."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError

FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
"""Split -> its two files, without ``.gz``."""
SIDE = 28
NUM_CLASSES = 10
LARGEST = 2**26
"""Bytes of the largest unpacked file that is read; the training images are 47 million."""
UBYTE = 8
"""IDX's code of unsigned bytes."""


def read_split(folder: Path, split: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read ``train`` (60,000 images) or ``test`` (10,000), gzipped or not.

    Returns:
        Images, uint8 (N, 28, 28), white on black; and labels, uint8 (N,), 0 to 9.

    Raises:
        UserError: the files are not there, damaged, or hold something else.
    """
    images, labels = (_read_idx(_find(folder, name)) for name in FILES[split])
    if images.shape[1:] != (SIDE, SIDE) or labels.shape != images.shape[:1]:
        raise UserError(
            f"{folder}: images of shape {images.shape} and labels of shape {labels.shape}; "
            f"Fashion-MNIST has (N, {SIDE}, {SIDE}) and (N,)"
        )
    if len(labels) == 0 or labels.max() >= NUM_CLASSES:
        raise UserError(f"{folder}: labels must be 0 to {NUM_CLASSES - 1}, one an image")
    return images, labels


def _find(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise UserError(
        f"{folder} holds no {name}.gz; Fashion-MNIST is four such files "
        "(https://github.com/zalandoresearch/fashion-mnist, Debian: dataset-fashion-mnist)"
    )


def _read_idx(path: Path) -> NDArray[np.uint8]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}; copy it again") from error
    dimensions = raw[3] if raw[:3] == bytes((0, 0, UBYTE)) and len(raw) > 3 else 0
    start = 4 + 4 * dimensions
    shape = tuple(np.frombuffer(raw[4:start], ">u4").tolist()) if len(raw) >= start else ()
    if dimensions == 0 or len(shape) != dimensions or math.prod(shape) != len(raw) - start:
        raise UserError(f"{path} is not an IDX file of unsigned bytes, or is cut off")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)
