"""Right images are counted in eval mode, on normalised pixels."""

import torch
from torch import Tensor, nn

from robustbench_twicing.training.scoring import count_right
from tests.tiny import PREPROCESSING, greys

GREY = [100, 110, 120, 130, 200]


class AboveMean(nn.Module):
    """Class 1 where an image is brighter than the mean of the data; the contrary in training."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalised (N, 3, H, W) to logits (N, 2)."""
        bright = x.mean((1, 2, 3)) * (-1 if self.training else 1)
        return torch.stack([-bright, bright], 1)


def test_right_images_are_counted_in_eval_mode() -> None:
    labels = [0, 0, 1, 1, 1]  # 0.5 of 255 is between the third and the fourth
    network = AboveMean().train()
    assert count_right(network, greys(GREY, labels), PREPROCESSING, torch.device("cpu")) == 4
    assert network.training
