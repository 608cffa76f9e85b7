"""Twicing attention (arXiv 2503.00687): A v + A (v - A v), in all layers or chosen ones."""

from collections.abc import Sequence

from torch import Tensor, nn

from ..attention import average_twice
from .heads import Heads, refuse_masks


class TwicingAttention(Heads):
    """DeiT attention whose average is taken twice; parameters and keys as timm's Attention."""

    averages_twice = True

    def __init__(self, plain: nn.Module) -> None:
        # One explicit A serves both averages, which beats two fused kernels in time.
        super().__init__(plain, fused=False)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Tokens (B, N, C) to tokens (B, N, C)."""
        refuse_masks(attn_mask, is_causal)
        q, k, v = self.split(x)
        return self.merge(average_twice(q, k, v, fused=self.fused_attn))


def make_twicing(network: nn.Module, layers: Sequence[int]) -> nn.Module:
    """Let the blocks with these 0-based indices average twice; weights stay what they were."""
    for layer in layers:
        block = network.get_submodule(f"blocks.{layer}")
        block.attn = TwicingAttention(block.get_submodule("attn"))
    return network
