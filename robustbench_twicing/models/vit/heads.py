"""The qkv and output projections of a DeiT attention, with the averaging left open."""

from torch import Tensor, nn


class Heads(nn.Module):
    """Takes over the projections (and so the state-dict keys) of timm's Attention.

    Args:
        plain: timm's Attention; its ``qkv`` (C -> 3C) and ``proj`` (C -> C) are shared, not copied.
        fused: whether the layer uses the fused kernel until `set_attention` says otherwise.
    """

    def __init__(self, plain: nn.Module, *, fused: bool) -> None:
        super().__init__()
        self.num_heads: int = plain.num_heads  # type: ignore[assignment]
        self.qkv = plain.get_submodule("qkv")
        self.proj = plain.get_submodule("proj")
        self.fused_attn = fused

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens (B, N, C) to q, k, v, each (B, h, N, C/h)."""
        batch, tokens, width = x.shape
        qkv = self.qkv(x).view(batch, tokens, 3, self.num_heads, width // self.num_heads)
        # Taken apart before the axes change places, so that gradients meet in one copy.
        q, k, v = (heads.transpose(1, 2) for heads in qkv.unbind(2))
        return q, k, v

    def merge(self, y: Tensor) -> Tensor:
        """Averages (B, h, N, C/h) back to tokens (B, N, C), projected."""
        projected: Tensor = self.proj(y.transpose(1, 2).flatten(2))
        return projected


def refuse_masks(attn_mask: Tensor | None, is_causal: bool) -> None:
    """The blocks of timm offer masks to their attention; no image model here has any."""
    if attn_mask is not None or is_causal:
        raise NotImplementedError("attention masks: image classifiers attend to every token")
