"""ImageNet-C's images made on the fly from the clean ones."""

from dataclasses import asdict, dataclass
from typing import Any

from PIL import Image

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet_c import SEVERITIES, SIDE
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError

from .digital import store_as_jpeg
from .frost_textures import frost_textures
from .imaging.pixels import MIN_SIDE, Pixels
from .parameters import image_rng
from .table import CORRUPTIONS, OFFICIAL_JPEG_QUALITY, corrupt

RESIZE, CROP = 256, SIDE
"""How the official files were cut, whatever the model's own preprocessing is."""


@dataclass(frozen=True)
class GeneratedImages:
    """One corruption at one severity, as an image source: see `ImageSource`.

    Attributes:
        corruption: a key of `CORRUPTIONS`.
        severity: 1 to 5.
        jpeg: store as JPEG of quality 85 and read again, as the official files were.
        side: pixels a side at which the images are corrupted; any but 224 is not ImageNet-C.
        frost_dir: folder of the frost photographs; None looks for an installed package.
    """

    corruption: str
    severity: int
    jpeg: bool = True
    side: int = SIDE
    frost_dir: str | None = None

    def __post_init__(self) -> None:
        CORRUPTIONS[self.corruption]  # explains an unknown name
        if self.severity not in SEVERITIES:
            raise UserError(f"severity {self.severity} does not exist; it is 1 to 5")
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
        return corrupt(
            data.pixels(index, clean_crop(self.side)),
            self.corruption,
            self.severity,
            rng,
            jpeg_quality=None,
            frost_dir=self.frost_dir,
        )

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
        if self.corruption == "frost":
            try:
                frost_textures(self.frost_dir)
            except UserError as error:
                return str(error)
        return ""

    def describe(self) -> dict[str, Any]:
        """What decides the pixels; not where the frost photographs, checked by hash, were found."""
        facts = {name: each for name, each in asdict(self).items() if name != "frost_dir"}
        return {"source": source_name(jpeg=self.jpeg), **facts}


def source_name(*, jpeg: bool) -> str:
    """What results.csv says of generated images in its column ``source``."""
    return "generated-jpeg85" if jpeg else "generated-memory"


def clean_crop(side: int = CROP) -> Preprocessing:
    """How a photograph is cut before it is corrupted: at 224 pixels, Resize 256, bilinear."""
    return Preprocessing(crop=side, resize=side * RESIZE // CROP, interpolation="bilinear")
