"""Images as arrays: what is accepted, and how floats become bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustbench_twicing.data.imagenet_c import SIDE
from robustbench_twicing.errors import UserError

Pixels = NDArray[np.uint8]
"""An image (H, W, 3) in RGB, or grey (H, W)."""

MIN_SIDE = 32


def is_imagenet_c_size(image: Pixels) -> bool:
    """Whether the image is 224 x 224; at any other size the outcome is not ImageNet-C."""
    return image.shape[:2] == (SIDE, SIDE)


def check_pixels(image: Pixels, name: str, *, grey: bool) -> None:
    """Refuse what corruption ``name`` cannot work on.

    Args:
        image: the input.
        name: the corruption, for the message.
        grey: whether it also takes grey images (H, W).

    Raises:
        UserError: not uint8, not (H, W, 3) or (H, W), or a side shorter than 32 pixels.
    """
    colour = image.ndim == 3 and image.shape[-1] == 3
    if image.dtype != np.uint8 or not (colour or image.ndim == 2):
        raise UserError(
            f"{name} got an array of {image.dtype} {image.shape}; "
            "an image is uint8 (height, width, 3), or (height, width) for grey"
        )
    if not colour and not grey:
        raise UserError(f"{name} adds colour and needs an RGB image, not a grey one; convert it")
    if min(image.shape[:2]) < MIN_SIDE:
        raise UserError(
            f"{name} got {image.shape[0]} x {image.shape[1]} pixels; "
            f"both sides have to be at least {MIN_SIDE}"
        )


def to_unit(image: Pixels) -> NDArray[np.float64]:
    """Bytes to floats in [0, 1]."""
    return image / 255.0


def to_bytes(unit: NDArray[Any]) -> Pixels:
    """Floats on the 0..1 scale, clipped and TRUNCATED to bytes, as ImageNet-C was made.

    Works in place: ``unit`` holds garbage afterwards.
    """
    np.clip(unit, 0, 1, out=unit)
    np.multiply(unit, 255, out=unit)
    return unit.astype(np.uint8)


def by_channel(image: Pixels, work: Callable[[Pixels], Pixels]) -> Pixels:
    """Apply ``work`` to each channel (H, W).

    Faster than on all at once: the allocator reuses its memory, and numpy does not like a last
    axis of three.
    """
    if image.ndim == 2:
        return work(image)
    changed = np.empty(image.shape, dtype=np.uint8)
    for channel in range(image.shape[-1]):
        changed[..., channel] = work(image[..., channel])
    return changed
