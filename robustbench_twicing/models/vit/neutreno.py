"""NeuTRENO (arXiv 2312.00751): every layer is pulled towards the values of the first."""

from typing import Any, NoReturn

from timm.models.vision_transformer import Block, VisionTransformer
from torch import Tensor

from ..attention import average
from .heads import Heads

ALPHA = 0.6
"""Strength of the pull; a constant upstream, so that no checkpoint contains it."""


class NeutrenoAttention(Heads):
    """A v + ALPHA (v0 - v); in the layer that gets no v0, plain A v."""

    def forward(self, x: Tensor, v0: Tensor | None) -> tuple[Tensor, Tensor]:
        """Tokens (B, N, C) to tokens (B, N, C) and this layer's own values (B, h, N, C/h)."""
        q, k, v = self.split(x)
        y = average(q, k, v, fused=self.fused_attn)
        if v0 is not None:
            y = y + ALPHA * (v0 - v)
        return self.merge(y), v


class NeutrenoBlock(Block):
    """timm's Block that is handed v0 and hands it on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.attn: NeutrenoAttention
        plain = self.get_submodule("attn")
        self.attn = NeutrenoAttention(plain, fused=bool(plain.fused_attn))

    def forward(  # type: ignore[override]
        self, x: Tensor, v0: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Tokens (B, N, C) and v0 (None in the first block) to tokens and v0 (B, h, N, C/h)."""
        y, v = self.attn(self.norm1(x), v0)
        x = x + self.drop_path1(y)
        x = x + self.drop_path2(self.mlp(self.norm2(x)))
        return x, v if v0 is None else v0


class NeutrenoTransformer(VisionTransformer):
    """VisionTransformer whose loop over blocks passes v0 along.

    v0 is an argument, not kept in a shared holder, so that replicas and compiled graphs are safe.
    """

    def __init__(self, **sizes: Any) -> None:
        super().__init__(block_fn=NeutrenoBlock, **sizes)

    def forward_features(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Normalised images (B, 3, H, W) to tokens (B, 1 + N, C) after the last norm."""
        x = self._pos_embed(self.patch_embed(x))
        v0: Tensor | None = None
        for block in self.blocks:
            x, v0 = block(x, v0)
        tokens: Tensor = self.norm(x)
        return tokens

    def forward_intermediates(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not offered: the version of timm calls the blocks one by one and would lose v0."""
        raise NotImplementedError("NeuTRENO hands v0 from block to block; use forward_features")
