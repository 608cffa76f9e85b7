"""The flags of a network whose numbers would mislead, from the images of the first part."""

from collections.abc import Iterator

from torch import Tensor

from ...classifiers.classifier import Classifier
from .answers import RANDOM, answer_flags
from .first_order import gradient_flags
from .input_conventions import convention_flags
from .logits import is_coarse, logit_flags, short_format


def network_flags(
    model: Classifier, x: Tensor, y: Tensor, logits: Tensor, *, gradients: bool
) -> Iterator[str]:
    """One flag for each fault.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K), on its device, in eval mode.
        x: images that were scored together; without any, nothing is known.
        y: their right classes (N,), or (N, M) of which any is right.
        logits: their scores.
        gradients: whether attacks follow gradients, and the scores were computed with them.
    """
    if not len(x):
        return
    answers = list(answer_flags(model, x, logits, graph=gradients))
    yield from answers
    if RANDOM in answers:
        return
    yield from logit_flags(logits)
    # Of an answer that is not one, or has few digits, there are no differences to be measured.
    measurable = not (answers or short_format(logits) or is_coarse(logits))
    if gradients and measurable and logits.shape[1] > 1:
        yield from gradient_flags(model, x)
    yield from convention_flags(model, x, y, logits)
