"""When two logits of one image are equal but for rounding."""

from torch import Tensor

ROUNDING = 1e-4
"""Part of the logits' spread by which two equal passes may differ, on hardware that adds in any
order."""
BATCH_ROUNDING = 1e-2
"""The same for passes of other batch sizes: networks of shorter formats take other kernels."""


def agree(logits: Tensor, others: Tensor, share: float) -> bool:
    """Whether logits (N, K) differ by no more than a share of their spread.

    The spread decides who wins; where it is below a tenth of the largest logit, that tenth takes
    its place, for there the differences are rounding themselves.
    """
    logits, others = logits.float(), others.float()
    spread = logits.amax(1) - logits.amin(1)
    scale = spread.maximum(logits.abs().amax(1) / 10)
    return bool(((logits - others).abs().amax(1) <= share * scale).all())
