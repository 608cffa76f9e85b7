"""Test sets on disk whose right answers are known: flat colours, and a network that names them."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet import subset_indices, wnids
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task, with_clean_subsets
from robustbench_twicing.models.family import ModelRecord

SIDE = 8
PREPROCESSING = Preprocessing(crop=SIDE, resize=SIDE, mean=(0.5,) * 3, std=(0.25,) * 3)
_GRID = np.array([(k // 100, k // 10 % 10, k % 10) for k in range(1000)])
PALETTE = 15 + 25 * _GRID + np.random.default_rng(0).integers(-6, 7, _GRID.shape)
"""One colour for every class of ImageNet-1k, near a grid of 25 levels: hardly two are as near."""

CODE = f'''
import torch

COLOURS = {PALETTE.tolist()}


class Palette(torch.nn.Module):
    """The class, of the first so many, whose colour is nearest to the mean pixel."""

    def __init__(self, classes=1000):
        super().__init__()
        self.register_buffer("colours", torch.tensor(COLOURS[:classes]) / 255)

    def forward(self, x):
        return 200 * (x.mean((2, 3)) @ self.colours.T - self.colours.square().sum(1) / 2)


def build():
    return Palette()


def ten():
    return Palette(10)
'''
"""A user's code with the same network, on pixels."""


class Palette(nn.Module):
    """The class, of the first so many, whose colour is nearest to the mean pixel."""

    colours: Tensor

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        colours = torch.tensor(PALETTE[:classes], dtype=torch.float32) / 255
        self.register_buffer("colours", colours)

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, classes)."""
        return 200 * (x.mean((2, 3)) @ self.colours.T - self.colours.square().sum(1) / 2)


def palette(classes: int = 1000) -> Classifier:
    """The network as a classifier."""
    return Classifier(Palette(classes), PREPROCESSING, ModelRecord("palette"), normalize=False)


def nearest(shown: int, among: Sequence[int]) -> int:
    """The class, of some, whose colour is nearest to that of class ``shown``; the first, if two."""
    distance = np.square(PALETTE[list(among)] - PALETTE[shown]).sum(1)
    return int(among[int(distance.argmin())])


@cache
def picture(shown: int, border: int = 0) -> bytes:
    """A PNG in the colour of class ``shown``, with so many pixels of red around it."""
    inside = Image.new("RGB", (SIDE, SIDE), tuple(int(level) for level in PALETTE[shown]))
    image = Image.new("RGB", (SIDE + 2 * border,) * 2, (255, 0, 0))
    image.paste(inside, (border, border))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def write(root: Path, shown: Mapping[str, int], border: int = 0) -> Path:
    """Write pictures: path below the root to the class whose colour it shows."""
    for name, index in shown.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(index, border))
    return root


def wnid_folders(
    classes: Iterable[int], *, images: int = 1, swapped: Mapping[int, int] | None = None
) -> dict[str, int]:
    """Pictures in wnid folders: each in its class's colour, or in that of another (``swapped``)."""
    return {
        f"{wnids()[index]}/{number}.png": (swapped or {}).get(index, index)
        for index in classes
        for number in range(images)
    }


def subset_folders(which: str, *, swapped: Mapping[int, int] | None = None) -> dict[str, int]:
    """One picture for each of the 200 classes."""
    return wnid_folders(subset_indices(which), swapped=swapped)


OBJECTNET = {
    "helmet": ("Helmet", (518, 560)),
    "alarm_clock": ("Alarm clock", (409,)),
    "zoo_thing": ("Thing of no class", ()),
    "chair": ("Chair", (423, 559, 765)),
}
"""A made-up ObjectNet: folder to its label and classes."""


def write_mappings(root: Path, classes: Mapping[str, tuple[str, tuple[int, ...]]]) -> Path:
    """ObjectNet's four files; ILSVRC2012's own order is the reversed one here."""
    root.mkdir(parents=True)
    files = {
        "folder_to_objectnet_label.json": {folder: each[0] for folder, each in classes.items()},
        "objectnet_to_imagenet_1k.json": {
            label: "; ".join(f"class {index}, a word" for index in indices)
            for label, indices in classes.values()
            if indices
        },
        "pytorch_to_imagenet_2012_id.json": {str(index): 999 - index for index in range(1000)},
    }
    for name, content in files.items():
        (root / name).write_text(json.dumps(content))
    names = "".join(f"class {999 - line}, a word\n" for line in range(1000))
    (root / "imagenet_to_label_2012_v2").write_text(names)
    return root


def run_all(datasets: list[Dataset], out: Path, **options: Any) -> Run:
    """The palette network on several data sets, nothing attacked."""
    tasks = with_clean_subsets([make_task(data, [clean()]) for data in datasets])
    models = {"palette": palette()}
    return evaluate_models(models, tasks, out=out, options=Options(batch_size=64, **options))
