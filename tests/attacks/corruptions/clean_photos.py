"""A small clean folder, and a network that sees more than brightness, for corruption tests."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.models.family import ModelRecord

WNIDS = ("n01440764", "n01443537")
"""Classes 0 and 1."""


def photographs(root: Path, count: int = 5, size: tuple[int, int] = (300, 270)) -> Path:
    """Smooth random images named as ImageNet's, in two wnid folders; returns the folder."""
    for number in range(count):
        folder = root / WNIDS[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        coarse = np.random.default_rng(number).integers(0, 256, (9, 10, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)
        image.save(folder / f"ILSVRC2012_val_{number + 1:08d}.JPEG", quality=95)
    return root


class Stripes(nn.Module):
    """Seeded 8 x 8 patches to 1000 logits: every pixel counts."""

    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.register_buffer("weight", torch.randn(1000, 3, 8, 8, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, 1000)."""
        patches = nn.functional.avg_pool2d(x, x.shape[-1] // 8)
        return torch.einsum("nchw,kchw->nk", patches, self.weight)


def stripes(crop: int = 224) -> Classifier:
    """The network as a classifier of this input size."""
    preprocessing = Preprocessing(crop=crop, resize=crop * 256 // 224)
    return Classifier(Stripes(), preprocessing, ModelRecord("stripes"), normalize=False)


def read(path: Path) -> NDArray[np.uint8]:
    """The pixels of a file."""
    with Image.open(path) as image:
        return np.asarray(image)
