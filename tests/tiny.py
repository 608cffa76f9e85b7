"""Models whose answer is known in closed form, and data sets that live in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray
from PIL import Image
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from attacks import ATTACKS
from reports import merge, results
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.dataset import Dataset, RightLabels
from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.schema import RECORD_SCHEMA

SIDE = 8
COUNTS = [each.name for each in RECORD_SCHEMA if pa.types.is_integer(each.type)]
"""Columns that pandas turns into fractions where some rows have none."""
PREPROCESSING = Preprocessing(crop=SIDE, resize=None, mean=(0.4, 0.5, 0.6), std=(0.2, 0.25, 0.3))


class Halfspace(nn.Module):
    """Class 1 where the mean pixel is above 1/2, else class 0; the margin is |mean - 1/2|."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, 2)."""
        above = x.flatten(1).mean(1) - 0.5
        return torch.stack([-above, above], 1)


class Linear(nn.Module):
    """Logits linear in the pixels, with seeded weights none of which is 0."""

    weight: Tensor

    def __init__(self, classes: int = 2, side: int = SIDE, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.register_buffer("weight", torch.randn(classes, 3, side, side, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, classes)."""
        return torch.einsum("nchw,kchw->nk", x, self.weight)


class ConvNet(nn.Module):
    """Convolution, BatchNorm, dropout, smooth activation: what goes wrong in train mode is here."""

    def __init__(self, classes: int = 5, seed: int = 0) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(8, classes)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for tensor in self.parameters():
                tensor.copy_(torch.randn(tensor.shape, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        """Network input (N, 3, H, W) to logits (N, classes)."""
        hidden = self.drop(torch.nn.functional.gelu(self.bn(self.first(x))))
        logits: Tensor = self.head(hidden.mean((2, 3)))
        return logits


@dataclass(frozen=True)
class MemoryImages:
    """Decoded pixels; those at ``bad`` positions cannot be read."""

    arrays: NDArray[np.uint8]
    bad: frozenset[int] = frozenset()

    def pixels(self, index: int, preprocessing: Preprocessing) -> NDArray[np.uint8]:
        """Image ``index``, as it is."""
        if index in self.bad:
            raise BadImageError(f"/photos/{index}.png", "it is damaged")
        pixels: NDArray[np.uint8] = self.arrays[index]
        return pixels

    def picture(self, index: int) -> Image.Image:
        """Image ``index`` as Pillow has it."""
        return Image.fromarray(self.pixels(index, PREPROCESSING))

    def signature(self, index: int) -> str:
        """Hash of the pixels."""
        return sha256(self.arrays[index].tobytes()).hexdigest()

    def select(self, indices: Sequence[int]) -> Self:
        """The images at these positions."""
        return replace(self, arrays=self.arrays[list(indices)])


def dataset(
    arrays: NDArray[np.uint8], labels: Sequence[int], *, bad: Sequence[int] = (), name: str = "tiny"
) -> Dataset:
    """A data set of uint8 arrays (N, H, W, 3)."""
    ids = tuple(f"image{number}.png" for number in range(len(arrays)))
    images = MemoryImages(arrays, frozenset(bad))
    return Dataset(name, ids, tuple(labels), images, num_classes=None, labelling="made up")


def greys(levels: Sequence[int], labels: Sequence[int], *, bad: Sequence[int] = ()) -> Dataset:
    """Flat grey images of these levels, 0 to 255."""
    arrays = np.stack([np.full((SIDE, SIDE, 3), level, np.uint8) for level in levels])
    return dataset(arrays, labels, bad=bad)


def noise(count: int, *, classes: int = 5, seed: int = 0, bad: Sequence[int] = ()) -> Dataset:
    """Seeded random images with random labels."""
    generator = np.random.default_rng(seed)
    arrays = generator.integers(0, 256, (count, SIDE, SIDE, 3), np.uint8)
    return dataset(arrays, generator.integers(0, classes, count).tolist(), bad=bad)


def images(count: int = 4) -> Tensor:
    """Random 8-bit images (N, 3, 8, 8) in [0, 1], black and white pixels among them."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 256, (count, 3, SIDE, SIDE), generator=generator) / 255
    x[0, 0, 0] = 0
    x[0, 0, 1] = 1
    return x


def several(data: Dataset, right: Sequence[tuple[int, ...]]) -> Dataset:
    """The same images, of which each has these right labels."""
    firsts = tuple(labels[0] for labels in right)
    return replace(data, labels=firsts, several=RightLabels(tuple(right), sha256(b"").hexdigest()))


def halfspace() -> Classifier:
    """The half-space on pixels as a classifier."""
    return Classifier(Halfspace(), PREPROCESSING, ModelRecord("halfspace"), normalize=False)


def convnet(seed: int = 0) -> Classifier:
    """The convolutional net as a classifier with five classes."""
    return Classifier(ConvNet(seed=seed), PREPROCESSING, ModelRecord("convnet"))


def vit(seed: int = 0, *, depth: int = 2) -> Classifier:
    """A small transformer with five classes, whose attention is far from uniform."""
    network = VisionTransformer(
        img_size=SIDE, patch_size=2, embed_dim=16, depth=depth, num_heads=2, num_classes=5
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in network.parameters():
            tensor.copy_(0.3 * torch.randn(tensor.shape, generator=generator))
    return Classifier(network, PREPROCESSING, ModelRecord("vit"))


def network_for(attack: str) -> Classifier:
    """A small network that an attack of the table takes."""
    return vit() if attack == "patch-attention" else convnet()


def quick_conditions(
    *names: str, budgets: Sequence[Fraction] = (Fraction(4, 255),)
) -> list[Condition]:
    """Conditions of the table by attack, with the constants of slow attacks cut down."""
    small = {"steps": 3, "samples": 8}
    return [
        clean() if name == "clean" else ATTACKS[name].condition(eps, overrides=small)
        for name in names
        for eps in (budgets if name != "clean" else budgets[:1])
    ]


def run(
    classifier: Classifier,
    data: Dataset,
    conditions: Sequence[Condition],
    out: Path,
    **options: Any,
) -> Run:
    """Evaluate one classifier with these options."""
    label = classifier.record.model
    tasks = [make_task(data, conditions, options.get("draws", 1))]
    return evaluate_models({label: classifier}, tasks, out=out, options=Options(**options))


def table(run: Run) -> dict[str, dict[str, Any]]:
    """The rows of results.csv by condition, without those of the worst case."""
    frame = results(merge([run.folder]))
    rows: Any = frame.to_dict("records")
    return {row["condition"]: row for row in rows}


def column(run: Run, name: str) -> list[Any]:
    """One column of results.csv, without rows of the worst case."""
    return list(results(merge([run.folder]))[name])


def text(records: pd.DataFrame, *, without: str = "") -> str:
    """Records as CSV with all digits, to be compared; without the rows of one condition."""
    counted = records.astype({name: "Int64" for name in COUNTS if name in records})
    return counted[counted["condition"] != without].to_csv(index=False)


def flags(run: Run) -> set[str]:
    """All flags of a run's rows."""
    return {flag for cell in column(run, "flags") for flag in cell.split(";") if flag}
