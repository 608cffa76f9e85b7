"""Accuracy of a network while it is trained."""

import torch
from torch import nn

from ..classifiers.classifier import Normalize
from ..data.dataset import Dataset
from ..data.image_maker import Maker
from ..data.loader import load_batches, to_tensor
from ..data.preprocessing import Preprocessing

BATCH_SIZE = 100


@torch.no_grad()
def count_right(
    network: nn.Module, data: Dataset, preprocessing: Preprocessing, device: torch.device
) -> int:
    """Images of ``data`` whose class has the largest logit; the network keeps its mode.

    Raises:
        BadImageError: an image cannot be decoded.
    """
    normalize = Normalize(preprocessing.mean, preprocessing.std).to(device)
    training = network.training
    network.eval()
    right = 0
    parts = range(-(-len(data) // BATCH_SIZE))
    maker = Maker(data, preprocessing)
    for batch in load_batches(maker, parts, batch_size=BATCH_SIZE, skip_bad=False):
        labels = torch.tensor([data.labels[index] for index in batch.indices])
        logits = network(normalize(to_tensor(batch.pixels, device)))
        right += int((logits.argmax(1).cpu() == labels).sum())
    network.train(training)
    return right
