"""Whether a network's answers depend on how it is asked: how often, beside whom, with gradients."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from .agreement import BATCH_ROUNDING, ROUNDING, agree

RANDOM, BATCH, GRADIENTS = "not-deterministic", "batch-dependent", "gradient-mode-dependent"


def answer_flags(model: nn.Module, x: Tensor, logits: Tensor, *, graph: bool) -> Iterator[str]:
    """Flags of a network whose answer for an image is not one answer.

    The batch that was scored is shown again without gradients and in reverse, with its last image
    at half its brightness, so that its extremes are others, too. Only where that differs, further
    passes say why.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K), in eval mode.
        x: the first images, as they were scored.
        logits: their scores.
        graph: whether these were computed with gradients.
    """
    alone, repeated = _logits(model, x[:1]), _logits(model, x[:1])
    if not agree(alone, repeated, ROUNDING):
        yield RANDOM
        return
    darkened = torch.cat([x[:-1], x[-1:] / 2])
    reversed_logits = _logits(model, darkened.flip(0)).flip(0) if len(x) > 1 else alone
    same = (
        agree(logits[:-1], reversed_logits[:-1], BATCH_ROUNDING),
        agree(logits[:1], alone, BATCH_ROUNDING),
    )
    if not all(same):
        yield _reason(model, x, logits, graph=graph)
    elif len(x) > 1 and not agree(
        _logits(model, darkened[-1:]), reversed_logits[-1:], BATCH_ROUNDING
    ):
        yield BATCH
    elif not _answers_alike_with_gradients(model, x[:1], alone):
        yield GRADIENTS


def _logits(model: nn.Module, x: Tensor, *, graph: bool = False) -> Tensor:
    with torch.set_grad_enabled(graph):
        logits: Tensor = model(x.detach().clone().requires_grad_(graph))
    return logits.detach()


def _reason(model: nn.Module, x: Tensor, logits: Tensor, *, graph: bool) -> str:
    """Why the scored batch was answered otherwise than now."""
    if not agree(logits, _logits(model, x, graph=graph), BATCH_ROUNDING):
        return RANDOM
    if graph and not agree(logits, _logits(model, x), BATCH_ROUNDING):
        return GRADIENTS
    return BATCH


def _answers_alike_with_gradients(model: nn.Module, x: Tensor, alone: Tensor) -> bool:
    try:
        return agree(alone, _logits(model, x, graph=True), BATCH_ROUNDING)
    except (Exception, SystemExit):
        return True  # every attack that needs the gradient is an error row that says why
