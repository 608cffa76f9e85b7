"""One image corrupted, and a data set's images corrupted on the fly from the clean ones."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.random import MT19937, RandomState, SeedSequence
from PIL import Image

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet_c import SIDE, is_of_imagenet_c
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.source_code import foreign_code_sha256
from robustbench_twicing.seeds import derive_seed

from .declaration import CORRUPTIONS, CorruptionSpec, at
from .imaging.jpeg import store_as_jpeg
from .imaging.pixels import MIN_SIDE, Pixels

OFFICIAL_JPEG_QUALITY = 85
RESIZE, CROP = 256, SIDE
"""How the official files were cut, whatever the model's own preprocessing is."""


def image_rng(seed: int, corruption: str, severity: int, image_id: str) -> RandomState:
    """A fresh generator that depends on these four and on nothing else.

    It is numpy's legacy `RandomState`, whose stream is guaranteed never to change.

    Args:
        seed: the run's base seed.
        corruption: a key of `CORRUPTIONS`.
        severity: 1 to 5; severities are drawn independently, as in the official data.
        image_id: the image's id in its dataset.
    """
    key = derive_seed(seed, "imagenet-c", corruption, severity, image_id)
    return RandomState(MT19937(SeedSequence([key])))


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
    if jpeg_quality is not None and not 1 <= jpeg_quality <= 95:
        raise UserError(
            f"JPEG quality {jpeg_quality} is out of range; give 1 to 95, or None for no JPEG"
        )
    corrupted = spec.apply(image, severity, rng, frost_dir)
    if jpeg_quality is not None:
        corrupted = store_as_jpeg(corrupted, jpeg_quality)
    return corrupted


@dataclass(frozen=True)
class GeneratedImages:
    """One corruption at one severity, as an image source: see `ImageSource`.

    Attributes:
        corruption: a key of `CORRUPTIONS`.
        severity: 1 to 5.
        jpeg: store as JPEG of quality 85 and read again, as the official files were.
        side: pixels a side at which the images are corrupted; any but 224 is not ImageNet-C.
        frost_dir: folder of the frost photographs; None looks for an installed package.
        spec: the corruption's declaration. It travels to worker processes, which find the function
            by it, in whatever file it is.
    """

    corruption: str
    severity: int
    jpeg: bool = True
    side: int = SIDE
    frost_dir: str | None = None
    spec: CorruptionSpec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", CORRUPTIONS[self.corruption])
        at({}, self.severity)  # explains one that does not exist
        if self.side < MIN_SIDE:
            raise UserError(
                f"images of {self.side} pixels cannot be corrupted; give {MIN_SIDE} or more"
            )

    def corrupted(self, data: Dataset, index: int, *, seed: int) -> Pixels:
        """Image ``index`` corrupted, before it is stored: uint8 (side, side, 3).

        Raises:
            BadImageError: the clean image cannot be decoded.
            UserError: what `corrupt` refuses, missing frost photographs among it.
        """
        rng = image_rng(seed, self.corruption, self.severity, data.ids[index])
        clean = data.pixels(index, clean_crop(self.side))
        return self.spec.apply(clean, self.severity, rng, self.frost_dir)

    def pixels(
        self, data: Dataset, index: int, preprocessing: Preprocessing, *, seed: int
    ) -> Pixels:
        """Image ``index`` corrupted, stored, and fitted to the model's input size."""
        corrupted = self.corrupted(data, index, seed=seed)
        if self.jpeg:
            corrupted = store_as_jpeg(corrupted, OFFICIAL_JPEG_QUALITY)
        return preprocessing.fit(Image.fromarray(corrupted))

    def lacking(self) -> str:
        """What keeps these images from being made, as far as it is known beforehand; else empty."""
        try:
            if self.spec.needs is not None:
                self.spec.needs(self.frost_dir)
        except UserError as error:
            return str(error)
        return ""

    @property
    def code_sha256(self) -> str:
        """Of the function, where it is a user's own; else empty."""
        return foreign_code_sha256(self.spec.function)

    def describe(self) -> dict[str, Any]:
        """What decides the pixels; not where the frost photographs, checked by hash, were found.

        ImageNet-C's corruptions are known by their names; of others, function and constants are
        written down, so that a run is not continued with another one of that name.
        """
        function = self.spec.function
        definition = {
            "function": f"{function.__module__}.{function.__qualname__}",
            "levels": {name: list(values) for name, values in self.spec.levels.items()},
        }
        return {
            "source": source_name(jpeg=self.jpeg),
            "corruption": self.corruption,
            "severity": self.severity,
            "jpeg": self.jpeg,
            "side": self.side,
            **({} if is_of_imagenet_c(self.corruption) else definition),
        }


def source_name(*, jpeg: bool) -> str:
    """What results.csv says of generated images in its column ``source``."""
    return "generated-jpeg85" if jpeg else "generated-memory"


def clean_crop(side: int = CROP) -> Preprocessing:
    """How a photograph is cut before it is corrupted: at 224 pixels, Resize 256, bilinear."""
    return Preprocessing(crop=side, resize=side * RESIZE // CROP, interpolation="bilinear")
