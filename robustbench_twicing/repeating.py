"""Whether a network gives the same answer twice; one that draws random numbers does not."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from .batches import to_tensor

FLAG = "not-deterministic"
ROUNDING = 1e-4
"""Share of the largest logit by which two passes may differ, on hardware that adds in any order."""


def repeats_itself(model: nn.Module, pixels: NDArray[np.uint8], device: torch.device) -> bool:
    """Run the first image twice; a single one always fits into memory.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits, on its device, in eval mode.
        pixels: (N, H, W, 3).
        device: of the model.

    Returns:
        Whether both passes gave the same logits; True without images.
    """
    x = to_tensor(pixels[:1], device)
    if not len(x):
        return True
    with torch.no_grad():
        one, other = model(x), model(x)
    return bool((one - other).abs().max() <= ROUNDING * max(1.0, float(one.abs().max())))
