"""Enlarging the middle of an image with its corners aligned: what zoom_blur and snow share."""

import math

from torch import Tensor
from torch.nn.functional import interpolate


def zoom_middle(x: Tensor, factor: float) -> Tensor:
    """Enlarge the middle of ``x`` so that it fills the frame.

    scipy's ``zoom(order=1)`` of 2018 up to rounding: the cut-out has ``ceil(side / factor)``
    pixels, its corners land on the corners of ``round(cut * factor)`` pixels, and what sticks
    out is trimmed evenly, one pixel more at the end.

    Args:
        x: floats (N, C, H, W).
        factor: at least 1.

    Returns:
        Floats (N, C, H, W).
    """
    height, width = x.shape[-2:]
    tall, wide = math.ceil(height / factor), math.ceil(width / factor)
    top, left = (height - tall) // 2, (width - wide) // 2
    cut = x[..., top : top + tall, left : left + wide]
    size = [round(tall * factor), round(wide * factor)]
    large = interpolate(cut, size=size, mode="bilinear", align_corners=True)
    top, left = (size[0] - height) // 2, (size[1] - width) // 2
    return large[..., top : top + height, left : left + width]
