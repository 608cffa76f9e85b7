"""Generators and a linear model for the tests of SPSA."""

import pytest
import torch
from torch import Tensor

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.threat_model import PIXEL, PROTOCOLS
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.seeds import image_generators
from tests.tiny import PREPROCESSING, Linear

EPS = 4 / 255
PAPER = PROTOCOLS["paper"].threat
THREATS = pytest.mark.parametrize("threat", [PIXEL, PAPER], ids=["pixel", "paper"])


def generators(count: int = 4, seed: int = 0) -> list[torch.Generator]:
    return image_generators(seed, [str(n) for n in range(count)], "spsa", {}, "4/255")


def linear(classes: int = 2, scale: float = 1.0) -> Classifier:
    """A linear network behind a normalisation, in float64."""
    network = Linear(classes=classes)
    network.weight.mul_(scale)
    return Classifier(network, PREPROCESSING, ModelRecord("linear")).double()


def away(model: Classifier, y: Tensor) -> Tensor:
    """Gradient of the margin of a linear model of two classes, in its input."""
    weight = model.network.get_buffer("weight")
    return weight.flip(0)[y] - weight[y]
