"""A model lent to foreign code: frozen and in eval mode, watched, and put back as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from robustbench_twicing.errors import BrokenAttackError


@contextmanager
def lent(model: nn.Module) -> Iterator[None]:
    """Inside, the model is in eval mode, no parameter gathers gradients, and nonsense is refused.

    Comparisons with NaN are never true, so that a library which keeps the best image so far would
    hand back the clean one, and a model that answers with NaN would count as robust.

    Raises:
        BrokenAttackError: inside, where the attack meets logits that are not finite or an input
            gradient that is not a number.
    """
    modes = {module: module.training for module in model.modules()}
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if any(modes.values()):
        model.eval()
    for parameter in learning:
        parameter.requires_grad_(False)
    watch = model.register_forward_hook(_refuse_nonsense)
    try:
        yield
    finally:
        watch.remove()
        for parameter in learning:
            parameter.requires_grad_(True)
        for module, training in modes.items():
            if module.training != training:
                module.training = training


def _refuse_nonsense(module: nn.Module, inputs: tuple[Any, ...], logits: Tensor) -> None:
    if not torch.isfinite(logits).all():
        raise BrokenAttackError("met logits that are not finite (NaN or infinity)")
    if inputs[0].requires_grad:
        inputs[0].register_hook(_refuse_nan)


def _refuse_nan(gradient: Tensor) -> None:
    if gradient.isnan().any():
        raise BrokenAttackError("met an input gradient that is not a number (NaN)")
