"""Values that a script beside the checkout worked out on photographs, with hooks of its own."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.opening import open_dataset

PHOTOGRAPHS = int(os.environ.get("GOLDEN", "3"))
"""Three in the tests, all twenty in `make golden`."""
VARIANTS = {"baseline": "", "twicing": "twicing_", "neutreno": "neutreno_"}


def read(shared: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(
        (shared / "golden" / "analysis" / "ref_analysis.json").read_text()
    )
    return values


def network(shared: Path, variant: str) -> Classifier:
    """DeiT-tiny's weights, whatever the architecture."""
    weights = shared / "data" / "deit_tiny_patch16_224.safetensors"
    return load_model(f"deit_tiny_{VARIANTS[variant]}patch16_224", checkpoint=weights)


def photographs(shared: Path, images: list[str]) -> Dataset:
    data = open_dataset(shared / "data" / "imagenet-val-100")
    return data.select([data.ids.index(image) for image in images])


def network_input(data: Dataset, model: Classifier) -> Tensor:
    """Float64 (N, 3, H, W); a classifier's own mean and std are rounded to float32."""
    crops = [data.pixels(index, model.preprocessing) for index in range(len(data))]
    pixels = torch.from_numpy(np.stack(crops)).double() / 255
    mean, std = (
        torch.tensor(of, dtype=torch.float64)
        for of in (model.preprocessing.mean, model.preprocessing.std)
    )
    return ((pixels - mean) / std).permute(0, 3, 1, 2)
