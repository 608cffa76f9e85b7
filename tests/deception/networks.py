"""Networks that deceive, and honest ones; all are made from two small networks that were trained.

Images are 28 x 28, in four classes that differ in where a soft bump lies and in its colour.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import dataset

SIDE, CLASSES, IMAGES = 28, 4, 40
PREPROCESSING = Preprocessing(crop=SIDE, resize=None, mean=(0.5,) * 3, std=(0.25,) * 3)
Change = Callable[[Tensor], Tensor]


@cache
def pictures(count: int, seed: int) -> tuple[NDArray[np.uint8], list[int]]:
    """Bumps on noise, and in which corner they lie."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % CLASSES
    rows, columns = np.mgrid[0:SIDE, 0:SIDE]
    y, x = 8 + 12 * (labels // 2), 8 + 12 * (labels % 2)
    y, x = y + random.integers(-3, 4, count), x + random.integers(-3, 4, count)
    far = (rows - y[:, None, None]) ** 2 + (columns - x[:, None, None]) ** 2
    bump = 50 * np.exp(-far / 30)[..., None] * np.array([1.0, 0.6, 0.3])
    noise = random.normal(115, 35, (count, SIDE, SIDE, 3))
    return np.clip(noise + bump, 0, 255).astype(np.uint8), labels.tolist()


def images(shift: int = 0) -> Dataset:
    """The images that are evaluated; their labels shifted, if that is asked for."""
    arrays, labels = pictures(IMAGES, 1)
    return dataset(arrays, [label + shift for label in labels])


def small(activation: type[nn.Module] = nn.GELU) -> nn.Module:
    """A convolutional network whose answer depends on where things are."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 5, stride=3, padding=2),
        nn.BatchNorm2d(8),
        activation(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        activation(),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, CLASSES),
    )


@cache
def _trained(robust: bool) -> dict[str, Any]:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        network = small()
        optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
        arrays, labels = pictures(256, 0)
        x = (torch.from_numpy(arrays).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
        y = torch.tensor(labels)
        for _ in range(40 if robust else 25):
            shown = _attacked(network, x, y) if robust else x
            optimizer.zero_grad()
            loss = cross_entropy(network(shown), y, label_smoothing=0.1)
            torch.autograd.backward(loss)
            optimizer.step()
    return network.eval().state_dict()


def _attacked(network: nn.Module, x: Tensor, y: Tensor, eps: float = 8 / 255 / 0.25) -> Tensor:
    """PGD of three steps, as adversarial training has it."""
    shift = torch.zeros_like(x)
    for _ in range(3):
        shift.requires_grad_()
        (gradient,) = torch.autograd.grad(cross_entropy(network(x + shift), y), shift)
        shift = (shift + eps / 2 * gradient.sign()).clamp(-eps, eps).detach()
    return x + shift


def trained(*, robust: bool = False) -> nn.Module:
    """The network that all others are made from, or one that was trained adversarially."""
    network = small()
    network.load_state_dict(_trained(robust))
    return network.eval().requires_grad_(False)


class Changed(nn.Module):
    """The trained network with something done to its input, to its answer, or to both."""

    def __init__(self, before: Change | None = None, after: Change | None = None) -> None:
        super().__init__()
        self.inner, self.before, self.after = trained(), before, after

    def forward(self, x: Tensor) -> Tensor:
        """Normalised images to logits."""
        logits: Tensor = self.inner(x if self.before is None else self.before(x))
        return logits if self.after is None else self.after(logits)


def classifier(network: nn.Module) -> Classifier:
    """With the normalisation that the networks were trained with."""
    return Classifier(network, PREPROCESSING, ModelRecord("deceiving"))


class Backward(torch.autograd.Function):
    """The identity, with another gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, change: Change) -> Tensor:
        """X itself."""
        ctx.change = change
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The gradient, changed."""
        return ctx.change(gradient), None


def with_gradient(change: Change) -> nn.Module:
    """The trained network, its gradient at the input changed."""
    return Changed(before=lambda x: Backward.apply(x, change))
