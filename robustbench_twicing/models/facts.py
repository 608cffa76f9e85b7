"""What a model costs: parameters, state-dict keys, multiply-adds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .build import build_model
from .resolve import resolve_model

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class ModelFacts:
    """Counts of one network.

    Attributes:
        parameters: numbers that are trained; buffers are not among them.
        state_keys: entries of the state dict, buffers included.
        gmacs: 10^9 multiply-adds of matrix products and convolutions for one image of native size.
    """

    parameters: int
    state_keys: int
    gmacs: float


def model_facts(name: str) -> ModelFacts:
    """Count a model by name, on the meta device: no weights are allocated and nothing is computed.

    Raises:
        UserError: as `resolve_model`.
    """
    import torch

    spec = resolve_model(name)
    with torch.device("meta"):
        network = build_model(spec.family, **spec.sizes)
    side = spec.preprocessing.crop
    return ModelFacts(
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        state_keys=len(network.state_dict()),
        gmacs=count_gmacs(network, torch.empty(1, 3, side, side, device="meta")),
    )


def count_gmacs(network: "nn.Module", x: "Tensor") -> float:
    """10^9 multiply-adds of the matrix products and convolutions of one forward pass.

    Attention is explicit in the count, whatever the network computes otherwise, because fused
    kernels hide their products from the counter, and twicing makes one more product with them.

    Args:
        network: on normalised input.
        x: (1, 3, H, W), on the network's device; one image, to count for one image.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from .attention import explicit_attention

    counter = FlopCounterMode(display=False)
    with explicit_attention(network), sdpa_kernel(SDPBackend.MATH), torch.no_grad(), counter:
        network(x)
    return counter.get_total_flops() / 2e9
