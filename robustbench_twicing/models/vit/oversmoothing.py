"""FeatScale and AttnScale (arXiv 2203.05962): amplify what a softmax average washes out."""

from typing import Any

import torch
from timm.models.vision_transformer import Block
from torch import Tensor, nn

from ..attention import average
from .heads import Heads, refuse_masks


class FeatScaleBlock(Block):
    """timm's Block whose attention branch is split into its token mean and the rest, each scaled.

    The scaled parts are added twice, as in the authors' released code; their paper adds them once.
    """

    def __init__(self, dim: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(dim, *args, **kwargs)
        self.lamb1 = nn.Parameter(torch.zeros(dim))
        self.lamb2 = nn.Parameter(torch.zeros(dim))

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Tokens (B, N, C) to tokens (B, N, C); the mean is over all tokens, class token too."""
        refuse_masks(attn_mask, is_causal)
        a: Tensor = self.attn(self.norm1(x))
        mean = a.mean(dim=1, keepdim=True)
        x = x + self.drop_path1(a + 2 * (self.lamb1 * mean + self.lamb2 * (a - mean)))
        mixed: Tensor = x + self.drop_path2(self.mlp(self.norm2(x)))
        return mixed


class AttnScaleAttention(Heads):
    """D + (1 + lamb)(A - D) with D = 1/N everywhere, which is (1 + lamb) A v - lamb mean(v)."""

    def __init__(self, plain: nn.Module) -> None:
        super().__init__(plain, fused=bool(plain.fused_attn))
        self.lamb = nn.Parameter(torch.zeros(self.num_heads))

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """Tokens (B, N, C) to tokens (B, N, C)."""
        refuse_masks(attn_mask, is_causal)
        q, k, v = self.split(x)
        lamb = self.lamb.view(-1, 1, 1)
        y = average(q, k, v, fused=self.fused_attn)
        return self.merge((1 + lamb) * y - lamb * v.mean(dim=2, keepdim=True))


class AttnScaleBlock(Block):
    """timm's Block with AttnScale's attention."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.attn = AttnScaleAttention(self.get_submodule("attn"))
