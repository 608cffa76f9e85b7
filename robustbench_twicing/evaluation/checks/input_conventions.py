"""Where a network does no better than guessing: on which other pixels it would."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...classifiers.classifier import Classifier
from ...classifiers.label_layers import best_placed
from ...data.preprocessing import IMAGENET_MEAN, IMAGENET_STD
from ...records.guessing import is_guessing, is_surely_better

FEWEST = 8
"""Images that can tell anything."""
Change = Callable[[Tensor], Tensor]


def convention_flags(model: Classifier, x: Tensor, y: Tensor, logits: Tensor) -> Iterator[str]:
    """``looks-like-CONVENTION``, for the first one under which most images would be right.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits.
        x: the first images.
        y: their right classes (N,), or (N, M) of which any is right.
        logits: the model's logits for them.
    """
    if len(x) < FEWEST or not is_guessing(*_answers(logits, y)):
        return
    for name, change in _conventions(model):
        try:
            with torch.no_grad():
                changed = model(change(x))
        except (Exception, SystemExit):
            continue  # a network may refuse pixels outside [0, 1], which are no mistake then
        if is_surely_better(*_answers(changed, y)):
            yield f"looks-like-{name}"
            return


def _answers(logits: Tensor, y: Tensor) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each image the right class that is meant, and the answer."""
    return best_placed(logits, y).cpu().numpy(), logits.argmax(1).cpu().numpy()


def _conventions(model: Classifier) -> Iterator[tuple[str, Change]]:
    """By name: how pixels are changed so that the network sees what its training may have shown.

    They are changed before the classifier normalises them.
    """
    if model.normalize is None:
        yield "pixels-0-to-255", lambda x: 255 * x
        yield "no-mean-and-std", lambda x: (x - _rgb(IMAGENET_MEAN, x)) / _rgb(IMAGENET_STD, x)
        yield "no-mean-and-std-of-0.5", lambda x: (x - 0.5) / 0.5
        yield "channels-in-bgr-order", lambda x: x.flip(1)
        return
    mean, std = model.normalize.mean, model.normalize.std
    yield "pixels-0-to-255", lambda x: 255 * x * std + mean
    yield "divided-by-255-twice", lambda x: 255 * (x - mean) + mean
    yield "normalised-twice", lambda x: x * std + mean
    yield "mean-and-std-of-0.5", lambda x: (x - 0.5) / 0.5 * std + mean
    yield "channels-in-bgr-order", lambda x: x.flip(1)


def _rgb(values: tuple[float, ...], x: Tensor) -> Tensor:
    return torch.tensor(values).view(-1, 1, 1).to(x)
