"""A map of attention on axes: weights on the patches of an image, and over the image."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import NDArray
from PIL import Image

Map = NDArray[np.float32]
Crop = NDArray[np.uint8]
PERCENTILE = 99.5
"""Of all weights of a picture, where the scale ends, so that a single one does not set it."""
OPACITY = 0.6
"""Of a map over its image."""
MARKED = -0.05
"""Share of the scale below which a weight has a dot: in print, colours do not show signs."""
MARK = 32
"""Points, shared by the patches of a side: diameter of a dot."""


class Scale(NamedTuple):
    """Colours of weights; 1 is what uniform attention gives each patch.

    Attributes:
        low: weight of the first colour.
        high: weight of the last one.
    """

    low: float
    high: float

    @classmethod
    def of(cls, maps: Sequence[Map], *, signed: bool, whole: bool) -> "Scale":
        """One that fits some maps; of weights with a sign it is centred at 0.

        Args:
            maps: any number, whose weights need not be finite.
            signed: whether weights may be negative.
            whole: from the least to the largest weight; else from 0 to `PERCENTILE`.
        """
        weights = np.concatenate([weights.ravel() for weights in maps])
        weights = weights[np.isfinite(weights)]
        if not weights.size:
            return cls(0, 1)
        sizes = abs(weights) if signed else weights
        high = float(np.percentile(sizes, 100 if whole else PERCENTILE))
        low = float(weights.min()) if whole else 0.0
        low = -high if signed else low
        return cls(low, high if high > low else low + 1)

    @property
    def colours(self) -> str:
        """Matplotlib's name; weights with a sign have two hues, and are palest at 0."""
        return "RdBu_r" if self.low < 0 else "viridis"


def attention_map(ax: Axes, weights: Map, scale: Scale, *, size: tuple[int, int]) -> AxesImage:
    """Draw a map, each patch as large as it is in the image; a dot marks negative weights.

    Args:
        ax: where to.
        weights: (R, C) on the grid of patches.
        scale: its colours.
        size: height and width of the image, pixels.
    """
    height, width = size
    drawn = ax.imshow(
        weights,
        cmap=scale.colours,
        vmin=scale.low,
        vmax=scale.high,
        extent=(0, width, height, 0),
        interpolation="nearest",
    )
    down, across = np.nonzero(weights < MARKED * scale.high)
    rows, columns = weights.shape
    ax.scatter(
        (across + 0.5) * width / columns,
        (down + 0.5) * height / rows,
        s=(MARK / max(rows, columns)) ** 2,
        color="black",
        linewidths=0,
    )
    return drawn


def attention_overlay(ax: Axes, weights: Map, scale: Scale, *, crop: Crop) -> None:
    """Draw a map, enlarged bilinearly, over the image in grey.

    Args:
        ax: where to.
        weights: (R, C) on the grid of patches.
        scale: its colours.
        crop: uint8 (H, W, 3), the pixels that the network saw.
    """
    size = crop.shape[1], crop.shape[0]
    enlarged = Image.fromarray(weights.astype(np.float32)).resize(size, Image.Resampling.BILINEAR)
    ax.imshow(Image.fromarray(crop).convert("L"), cmap="gray", vmin=0, vmax=255)
    ax.imshow(
        np.asarray(enlarged),
        cmap=scale.colours,
        vmin=scale.low,
        vmax=scale.high,
        alpha=OPACITY,
        interpolation="nearest",
    )
