"""What a few passes tell of a network whose numbers would mislead: one flag for each fault."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..classifiers.gradient import input_gradient
from ..data.loader import to_tensor

RANDOM, RANDOM_GRADIENT = "not-deterministic", "gradient-not-deterministic"
BATCH, PROBABILITIES = "batch-dependent", "probabilities"
ROUNDING = 1e-4
"""Shard of the logits' spread by which two equal passes may differ, on hardware that adds in any
order."""
BATCH_ROUNDING = 1e-2
"""The same for passes of other batch sizes: networks of shorter formats take other kernels."""
GRADIENT_ROUNDING = 1e-2
"""Shard of its length by which two equal gradients may differ."""


def network_flags(
    model: nn.Module,
    pixels: NDArray[np.uint8],
    device: torch.device,
    *,
    gradients: bool,
    few_classes: Mapping[str, int] | None = None,
) -> Iterator[str]:
    """Flags of a network whose answers are drawn, depend on the batch, are no logits, or too few.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits, on its device, in eval mode.
        pixels: (N, H, W, 3); the first image is looked at, alone and beside the last one at half
            its brightness, whose extremes are others, too. A single one always fits into memory,
            and tells nothing of batches.
        device: of the model.
        gradients: whether attacks will follow them.
        few_classes: by flag, the number of classes below which a network has it.

    Yields:
        Nothing without images.
    """
    x = to_tensor(pixels[:: max(1, len(pixels) - 1)], device)
    if not len(x):
        return
    x[1:] /= 2
    with torch.no_grad():
        one, other = model(x[:1]), model(x[:1])
        yield from (flag for flag, least in (few_classes or {}).items() if one.shape[1] < least)
        if not _alike(one, other, ROUNDING):
            yield RANDOM
            return
        alone = torch.cat([one, *(model(image[None]) for image in x[1:])])
        if len(x) > 1 and not _alike(alone, model(x), BATCH_ROUNDING):
            yield BATCH
    if _are_probabilities(alone):
        yield PROBABILITIES
    if gradients and not _has_one_gradient(model, x[:1], one):
        yield RANDOM_GRADIENT


def _alike(one: Tensor, other: Tensor, share: float) -> bool:
    """Whether logits differ by no more than a share of their spread, or of a tenth of the largest.

    The spread decides who wins; where it is small beside the logits, it is rounding itself.
    """
    spread = one.amax(1) - one.amin(1)
    scale = torch.maximum(spread, one.abs().amax(1) / 10)
    return bool(((one - other).abs().amax(1) <= share * scale).all())


def _are_probabilities(answers: Tensor) -> bool:
    sums = answers.double().sum(1)
    inside = (answers >= 0).all() and (answers <= 1).all()
    return bool(inside and ((sums - 1).abs() < 1e-3).all() and answers.shape[1] > 1)


def _has_one_gradient(model: nn.Module, x: Tensor, logits: Tensor) -> bool:
    """Whether two equal backward passes agree; a network without any is the attacks' to report."""
    try:
        one, other = (input_gradient(model, x, logits.argmax(1)) for _ in range(2))
    except (Exception, SystemExit):
        return True  # every attack that needs the gradient is an error row that says why
    return torch.equal(one, other) or bool((one - other).norm() <= GRADIENT_ROUNDING * one.norm())
