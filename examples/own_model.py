"""A model of your own: `--model examples/own_model.py:colour_classifier`."""

import torch
from torch import Tensor, nn


class ColourClassifier(nn.Module):
    """Two classes: reddish and bluish images, by mean colour."""

    def forward(self, pixels: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) in [0, 1] to logits (N, 2)."""
        red, _, blue = pixels.mean(dim=(2, 3)).unbind(1)
        return 10 * torch.stack([red - blue, blue - red], dim=1)


def colour_classifier() -> nn.Module:
    """Called without arguments; returns a module that takes pixels.

    Where a network expects normalised input, say so with `--normalize imagenet` or
    `--normalize r,g,b/r,g,b`; its normalisation then becomes a layer.
    """
    return ColourClassifier()
