"""The correct SPSA against an exact gradient: no library has it."""

import torch

from ..spsa import spsa_gradient
from .agreement import Agreement

LINEAR_SAMPLES, LINEAR_COSINE = 20_000, 0.99


def spsa_on_linear(seed: int) -> Agreement:
    """The correct SPSA's gradient estimate against the exact gradient of a linear model.

    The margin of two logits is linear with gradient ``w1 - w0``; the estimate's expectation is
    that gradient, and its error falls with the square root of the number of probes.
    """
    generator = torch.Generator().manual_seed(seed)
    layer = torch.nn.Linear(3 * 4 * 4, 2, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        layer.weight.copy_(torch.randn(layer.weight.shape, generator=generator))
        layer.bias.zero_()
    model = torch.nn.Sequential(torch.nn.Flatten(), layer).requires_grad_(False)
    x, target = torch.full((1, 3, 4, 4), 0.5), torch.zeros(1, dtype=torch.long)
    estimate = spsa_gradient(model, x, target, samples=LINEAR_SAMPLES, generator=generator)
    exact = (layer.weight[1] - layer.weight[0]).view_as(x)
    cosine = float(torch.cosine_similarity(estimate.flatten(), exact.flatten(), dim=0))
    largest = float((estimate - exact).abs().max())
    agrees = cosine >= LINEAR_COSINE
    remark = f"cosine {cosine:.4f}, at least {LINEAR_COSINE} is expected"
    return Agreement("spsa gradient", "exact, linear model", largest, None, agrees, remark)
