"""The label an attack moves away from."""

import torch
from torch import Tensor, nn

from robustbench_twicing.conditions.threat_model import ThreatModel


def attacked_label(model: nn.Module, x: Tensor, y: Tensor, threat: ThreatModel) -> Tensor:
    """Class indices (N,) that the attack moves away from: y, or the model's own predictions."""
    if threat.label == "true":
        return y
    with torch.no_grad():
        predicted: Tensor = model(x).argmax(1)
    return predicted
