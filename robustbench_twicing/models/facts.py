"""What a model costs: parameters, state-dict keys, multiply-adds."""

from dataclasses import dataclass

from .build import build_model
from .resolve import resolve_model


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

    Attention is explicit in the count, because fused kernels hide their products from the counter.

    Raises:
        UserError: as `resolve_model`.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    spec = resolve_model(name)
    with torch.device("meta"):
        network = build_model(spec.family, **{**spec.sizes, "attention": "explicit"})
    side = spec.preprocessing.crop
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(torch.empty(1, 3, side, side, device="meta"))
    return ModelFacts(
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        state_keys=len(network.state_dict()),
        gmacs=counter.get_total_flops() / 2e9,
    )
