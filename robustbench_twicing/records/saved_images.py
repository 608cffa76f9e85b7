"""Adversarial images that a run has saved: their clean pixels as a data set, they as an attack."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from ..conditions.attack_batch import AttackBatch
from ..conditions.threat_model import ThreatModel
from ..data.dataset import Dataset
from ..data.loader import pixels_hash
from ..data.preprocessing import Preprocessing
from ..errors import BrokenAttackError, UserError
from ..files.printable import name_some
from .adversarial import read_adversarial

LEVELS = 255
ROUNDING = 1e-6
"""By how much a GPU's quotients by 255 may differ from a CPU's."""


class SavedImage(NamedTuple):
    """One image of a source.

    Attributes:
        id: of the image.
        label: its class.
        pixels_sha256: hash of the clean pixels that the source was shown.
        path: a file that holds them.
    """

    id: str
    label: int
    pixels_sha256: str
    path: Path


@dataclass(frozen=True)
class SavedImages:
    """Clean pixels as they lie beside the adversarial ones."""

    saved: tuple[SavedImage, ...]

    def pixels(self, index: int, preprocessing: Preprocessing) -> NDArray[np.uint8]:
        """What the source was shown, uint8 (H, W, 3), which is resized for nobody.

        Raises:
            UserError: a damaged file, or pixels that are not those of the record.
        """
        del preprocessing
        image = self.saved[index]
        x = read_adversarial(image.path).x
        levels = np.rint(x * LEVELS).clip(0, LEVELS)
        pixels = levels.astype(np.uint8).transpose(1, 2, 0).copy()
        if np.abs(x - levels / LEVELS).max() > ROUNDING or pixels_hash(pixels) != (
            image.pixels_sha256
        ):
            raise UserError(
                f"{image.path} is damaged (its clean pixels are not those that were evaluated); "
                "delete it"
            )
        return pixels

    def picture(self, index: int) -> Image.Image:
        """The same as an image."""
        return Image.fromarray(self.pixels(index, Preprocessing(1, None)))

    def signature(self, index: int) -> str:
        """The hash of the pixels."""
        return self.saved[index].pixels_sha256

    def select(self, indices: Sequence[int]) -> "SavedImages":
        """The images at these positions, in this order."""
        return SavedImages(tuple(self.saved[index] for index in indices))


@dataclass(frozen=True)
class SavedDataset(Dataset):
    """Saved images under the fingerprint of those that they are.

    Attributes:
        recorded: that fingerprint.
    """

    recorded: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """As the run of the source has it where all images were saved."""
        return self.recorded


@dataclass(frozen=True, eq=False)
class SavedAttack:
    """Stands for an attack: it gives back the images that were saved of it.

    Attributes:
        files: by id of the image.
        made: under which condition and on which network, for messages.
    """

    files: Mapping[str, Path]
    made: str

    def __call__(
        self,
        batch: AttackBatch,
        budgets: Sequence[Fraction],
        *,
        threat: ThreatModel,
        settings: Mapping[str, Any],
    ) -> Iterator[Tensor]:
        """Adversarial pixels (N, 3, H, W), float32, as they were scored.

        Raises:
            BrokenAttackError: an image was not saved, or is of other clean pixels.
        """
        del threat, settings
        for _ in budgets:
            yield self._pixels(batch)

    def _pixels(self, batch: AttackBatch) -> Tensor:
        missing = [image for image in batch.images if image not in self.files]
        if missing:
            raise BrokenAttackError(f"{self.made}: nothing was saved of {name_some(missing)}")
        saved = [read_adversarial(self.files[image]) for image in batch.images]
        for image, before, shown in zip(batch.images, saved, batch.x, strict=True):
            x = torch.from_numpy(before.x).to(shown)
            same = x.shape == shown.shape and torch.equal(_levels(x), _levels(shown))
            if not same or (x - shown).abs().max() > ROUNDING:
                raise BrokenAttackError(f"{self.made}: {image} was saved with other clean pixels")
        stacked = np.stack([image.x_adv for image in saved])
        return torch.from_numpy(stacked).to(batch.x.device)


def _levels(x: Tensor) -> Tensor:
    return (x * LEVELS).round()
