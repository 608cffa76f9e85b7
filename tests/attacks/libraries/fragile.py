"""A small network of ten classes that every library can attack, and images for it."""

from fractions import Fraction
from typing import Any

import pyautoattack
import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from attacks import find_attack
from attacks.libraries import FOOLBOX, PRESETS, TORCHATTACKS
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.models.family import ModelRecord

SIDE = 32
COUNT = 5
EPS = Fraction(8, 255)
BUDGET = {"pixel": EPS, "l2": Fraction(3, 2)}
"""By protocol: with these most attacks change the network's mind."""
PREPROCESSING = Preprocessing(crop=SIDE, resize=None, mean=(0.4, 0.5, 0.6), std=(0.2, 0.25, 0.3))
ALL = [
    *PRESETS,
    *(f"torchattacks:{name}" for name in TORCHATTACKS),
    *(f"foolbox:{name}" for name in FOOLBOX),
]
EVERY = {
    protocol: [name for name in ALL if protocol in find_attack(name).protocols]
    for protocol in BUDGET
}
"""Every attack of a library, by the protocol that it follows; some follow both."""
CASES = [(name, protocol) for protocol, names in EVERY.items() for name in names]
SMALL: dict[str, Any] = {
    "block": 3,
    "steps": 3,
    "eot_iter": 1,
    "n_queries": 20,
    "num_iter_set": 3,
    "nb_sample": 8,
    "noise_batch_size": 2,
    "repeats": 3,
    "N": 2,
    "m": 2,
    "candidates": 3,
    "binary_search_steps": 2,
    "stepsize": 0.1,
}
"""Constants of all libraries, cut down; an attack takes those that it has."""


def small(name: str) -> dict[str, Any]:
    """Constants of an attack, cut down; those of AutoAttack are fixed."""
    return {"block": SMALL["block"]} if name == "autoattack" else SMALL


class ShortAutoAttack(pyautoattack.AutoAttack):  # type: ignore[misc]
    """The authors' code with few steps and queries, to stand in its place."""

    def _set_version(self, version: str = "standard") -> None:
        super()._set_version(version)
        for part in (self.apgd, self.apgd_targeted, self.fab):
            part.n_iter = 6
        self.square.n_queries = 40


BLACK_BOX = {
    "torchattacks:Square",
    "torchattacks:SPSA",
    "foolbox:L2ContrastReductionAttack",
    *(name for name in ALL if "Noise" in name),
}


class Fragile(nn.Module):
    """Convolution, BatchNorm, dropout and a head on every place: small steps change its mind."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=4, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(4 * 8 * 8, 10)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for tensor in self.parameters():
                tensor.copy_(0.2 * torch.randn(tensor.shape, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        """Normalised input (N, 3, 32, 32) to logits (N, 10)."""
        hidden = self.drop(gelu(self.bn(self.first(x))))
        logits: Tensor = self.head(hidden.flatten(1))
        return logits


def classifier(network: nn.Module | None = None) -> Classifier:
    """The network, or another one on pixels, as a classifier."""
    is_pixel_network = network is not None
    return Classifier(
        Fragile() if network is None else network,
        PREPROCESSING,
        ModelRecord("net"),
        normalize=not is_pixel_network,
    )


def images(count: int = COUNT) -> Tensor:
    """Random 8-bit images."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (COUNT, 3, SIDE, SIDE), generator=generator)[:count] / 255


def batch(
    model: nn.Module, *, count: int = COUNT, seed: int = 0, wrong: tuple[int, ...] = (1,)
) -> AttackBatch:
    """Images with the model's predictions as labels, but for some that are wrong already."""
    x = images(count)
    with torch.no_grad():
        y = model(x).argmax(1)
    for index in wrong:
        if index < count:
            y[index] = (y[index] + 1) % 10
    names = [f"{number}.png" for number in range(count)]
    return AttackBatch(model, x, y, images=names, seed=seed)
