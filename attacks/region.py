"""The ball around a batch in the threat model's own space, where changes are numbers to search."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import Classifier, std_of
from robustbench_twicing.conditions.ball import ball, unit
from robustbench_twicing.conditions.threat_model import ThreatModel
from robustbench_twicing.seeds import Generators, uniform_like

from .l2 import projected, random_point


@dataclass(frozen=True)
class Region:
    """The changes that a budget allows; pixel = unit * z + origin.

    Attributes:
        x: clean pixels (N, 3, H, W) in [0, 1].
        eps: the budget, in the threat model's space.
        threat: see `ThreatModel`.
        unit: what one unit of the space is in pixels.
        origin: the pixel that the space calls 0.
        std: of the normalisation, where the model has one.
    """

    x: Tensor
    eps: float
    threat: ThreatModel
    unit: Tensor
    origin: Tensor
    std: Tensor | None

    @classmethod
    def of(cls, model: nn.Module, x: Tensor, eps: float, threat: ThreatModel) -> "Region":
        """Around x, in the space of the model's input."""
        std = std_of(model)
        length = unit(x, threat, std)
        layer = model.normalize if isinstance(model, Classifier) else None
        if threat.space == "pixel" or layer is None:
            return cls(x, eps, threat, length, torch.zeros_like(length), std)
        return cls(x, eps, threat, length, layer.mean.to(x), std)

    def double(self) -> Tensor:
        """The pixels of twice the image as the space sees it."""
        return 2 * self.x - self.origin

    def random(self, generator: Generators) -> Tensor:
        """A uniformly drawn change."""
        if self.threat.norm == "l2":
            return random_point(self.x, self.eps, generator) - self.x
        return self.inside(self.eps * (2 * uniform_like(self.x, generator) - 1))

    def inside(self, moved: Tensor) -> Tensor:
        """A change brought back into the ball."""
        if self.threat.norm == "l2":
            return projected(self.x, self.x + moved, self.eps) - self.x
        bounds = ball(self.x, self.eps, self.threat, self.std)
        low, high = ((bound - self.x) / self.unit for bound in bounds)
        return moved.clamp(low, high)

    def pixels(self, moved: Tensor) -> Tensor:
        """The image of a change, in the ball to the last digit."""
        if self.threat.norm == "l2":
            return projected(self.x, self.x + moved, self.eps)
        low, high = ball(self.x, self.eps, self.threat, self.std)
        return (self.x + self.unit * moved).clamp(low, high)
