"""From a decoded photograph to the pixels a network sees: resize, centre crop, normalise."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..errors import UserError
from ..registry import unknown

Interpolation = Literal["nearest", "bilinear", "bicubic", "lanczos"]
INTERPOLATIONS: tuple[Interpolation, ...] = ("nearest", "bilinear", "bicubic", "lanczos")
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
RGB = tuple[float, float, float]


@dataclass(frozen=True)
class Preprocessing:
    """How an image becomes network input. Recorded with every number.

    Attributes:
        crop: side of the square centre crop, in pixels; the network's input size.
        resize: length of the shorter side after resizing, in pixels; None leaves the size alone.
        interpolation: PIL filter of the resize (always antialiased, as in training).
        mean: subtracted from pixels in [0, 1], per channel.
        std: divides the result, per channel.
        squash: both sides become `resize` pixels, whatever the proportions of the photograph.
    """

    crop: int
    resize: int | None
    interpolation: Interpolation = "bicubic"
    mean: RGB = IMAGENET_MEAN
    std: RGB = IMAGENET_STD
    squash: bool = False

    def __post_init__(self) -> None:
        if self.crop < 1 or (self.resize is not None and self.resize < self.crop):
            raise UserError(
                f"resize {self.resize} and crop {self.crop} do not fit: "
                "both are pixels, and resize must not be smaller than crop"
            )
        if self.interpolation not in INTERPOLATIONS:
            raise unknown("interpolation", self.interpolation, INTERPOLATIONS)
        if not all(np.isfinite([*self.mean, *self.std])) or min(self.std) <= 0:
            raise UserError(f"std {self.std} must be positive, mean and std finite")

    def override(self, **parts: Any) -> Self:
        """A copy in which every part that is given and not None replaces the family's."""
        return replace(self, **{name: part for name, part in parts.items() if part is not None})

    def by_request(self, parts: Mapping[str, Any]) -> tuple[Self, list[str]]:
        """The family's preprocessing with what the user replaced, and a note on that.

        Args:
            parts: as for `override`; the resize follows the crop in proportion unless it is given.
        """
        if parts["crop"] is not None and parts["resize"] is None and self.resize is not None:
            parts = {**parts, "resize": parts["crop"] * self.resize // self.crop}
        chosen = self.override(**parts)
        changed = [
            f"{part} {value} instead of {self.as_dict()[part]}"
            for part, value in chosen.as_dict().items()
            if value != self.as_dict()[part]
        ]
        return chosen, [f"Preprocessing by request: {', '.join(changed)}."] if changed else []

    def as_dict(self) -> dict[str, Any]:
        """The parts as plain values, for the record of a run."""
        return asdict(self)

    def pixels(self, image: Image.Image) -> NDArray[np.uint8]:
        """Resize and centre-crop as torchvision does on PIL images.

        Args:
            image: a decoded RGB image.

        Returns:
            uint8 array (crop, crop, 3).
        """
        from torchvision.transforms import functional as tv

        if self.resize is not None:
            mode = tv.InterpolationMode(self.interpolation)
            sides = [self.resize] * (2 if self.squash else 1)
            image = tv.resize(image, sides, mode, antialias=True)
        return np.asarray(tv.center_crop(image, [self.crop, self.crop]), dtype=np.uint8)

    def fit(self, image: Image.Image) -> NDArray[np.uint8]:
        """Bring a square image that was cropped before to the network's input size.

        What is done to the files of ImageNet-C: no second crop, and nothing at all at equal size.

        Args:
            image: a decoded square RGB image.

        Returns:
            uint8 array (crop, crop, 3).
        """
        return replace(self, resize=self.crop).pixels(image)
