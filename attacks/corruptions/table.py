"""The 19 corruptions of ImageNet-C (arXiv 1903.12261), and how one is applied."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import RandomState

from robustbench_twicing.data.imagenet_c import CATEGORIES
from robustbench_twicing.errors import UserError
from robustbench_twicing.registry import Registry

from . import blur, colour, digital, elastic, glass, noise, spatter, weather
from .imaging.pixels import Pixels, check_pixels
from .parameters import Levels


@dataclass(frozen=True)
class CorruptionSpec:
    """One corruption.

    Attributes:
        name: as the folders of ImageNet-C are called.
        function: (image, severity, rng) -> image, uint8, of the same shape.
        levels: its constants by severity; other constants are in the function's file.
        grey: whether it also takes images (H, W).
    """

    name: str
    function: Callable[[Pixels, int, RandomState], Pixels]
    levels: Levels
    grey: bool = True

    @property
    def category(self) -> str:
        """The archive it comes in; ``extra`` marks the hold-out four, not part of mCE."""
        return next(category for category, names in CATEGORIES.items() if self.name in names)


CORRUPTIONS: Registry[CorruptionSpec] = Registry("corruption")
for entry in (
    CorruptionSpec("gaussian_noise", noise.gaussian_noise, noise.GAUSSIAN_NOISE),
    CorruptionSpec("shot_noise", noise.shot_noise, noise.SHOT_NOISE),
    CorruptionSpec("impulse_noise", noise.impulse_noise, noise.IMPULSE_NOISE),
    CorruptionSpec("defocus_blur", blur.defocus_blur, blur.DEFOCUS_BLUR),
    CorruptionSpec("glass_blur", glass.glass_blur, glass.GLASS_BLUR),
    CorruptionSpec("motion_blur", blur.motion_blur, blur.MOTION_BLUR),
    CorruptionSpec("zoom_blur", blur.zoom_blur, blur.ZOOM_BLUR),
    CorruptionSpec("snow", weather.snow, weather.SNOW),
    CorruptionSpec("frost", weather.frost, weather.FROST, grey=False),
    CorruptionSpec("fog", weather.fog, weather.FOG),
    CorruptionSpec("brightness", colour.brightness, colour.BRIGHTNESS),
    CorruptionSpec("contrast", colour.contrast, colour.CONTRAST),
    CorruptionSpec("elastic_transform", elastic.elastic_transform, elastic.ELASTIC_TRANSFORM),
    CorruptionSpec("pixelate", digital.pixelate, digital.PIXELATE),
    CorruptionSpec("jpeg_compression", digital.jpeg_compression, digital.JPEG_COMPRESSION),
    CorruptionSpec("speckle_noise", noise.speckle_noise, noise.SPECKLE_NOISE),
    CorruptionSpec("gaussian_blur", blur.gaussian_blur, blur.GAUSSIAN_BLUR),
    CorruptionSpec("spatter", spatter.spatter, spatter.SPATTER, grey=False),
    CorruptionSpec("saturate", colour.saturate, colour.SATURATE, grey=False),
):
    CORRUPTIONS[entry.name] = entry

OFFICIAL_JPEG_QUALITY = 85


def corrupt(
    image: Pixels,
    name: str,
    severity: int,
    rng: RandomState,
    *,
    jpeg_quality: int | None = OFFICIAL_JPEG_QUALITY,
    frost_dir: Path | str | None = None,
) -> Pixels:
    """Corrupt one image as ImageNet-C was made, including the file format it is stored in.

    Args:
        image: uint8 (H, W, 3), or (H, W) where the corruption works on grey. ImageNet-C is
            224 x 224, the photograph resized to 256 (PIL, bilinear) and centre-cropped;
            see `is_imagenet_c_size` for other sizes.
        name: a key of `CORRUPTIONS`.
        severity: 1 to 5.
        rng: fresh for every image, see `image_rng`.
        jpeg_quality: of the JPEG that the result is stored as and read back (optimised, 4:2:0).
            The official files have 85; None leaves the step out, which makes the noise
            corruptions about a quarter stronger than the benchmark's.
        frost_dir: folder with the frost textures, see `frost_textures`.

    Returns:
        A new uint8 array of the image's shape, C-contiguous.

    Raises:
        UserError: an unknown name, a severity or quality that does not exist, an image that the
            corruption cannot work on, or frost textures that are not found.
    """
    spec = CORRUPTIONS[name]
    check_pixels(image, name, grey=spec.grey)
    if jpeg_quality is not None and not 1 <= jpeg_quality <= 95:
        raise UserError(f"JPEG quality {jpeg_quality} does not exist; give 1 to 95, or None")
    function = spec.function
    if name == "frost":
        function = partial(weather.frost, frost_dir=frost_dir)
    corrupted = function(image, severity, rng)
    if jpeg_quality is not None:
        corrupted = digital.store_as_jpeg(corrupted, jpeg_quality)
    return np.ascontiguousarray(corrupted)
