"""The whole FAN: stem, position, blocks, class attention, head."""

from functools import partial

import torch
from timm.models.xcit import ClassAttentionBlock, PositionalEncodingFourier
from torch import Tensor, nn

from ..fan_sizes import FanHybridSizes, FanSizes
from .block import FanBlock
from .stem import ConvStem, HybridStem


class Fan(nn.Module):
    """Fully attentional network (arXiv 2204.12451) on images of any size.

    Upstream's state-dict keys and results in eval mode, twicing layers apart; see `FanSizes` for
    what can be chosen.
    """

    def __init__(self, sizes: FanSizes) -> None:
        super().__init__()
        width = sizes.widths[-1]
        self.patch_embed = _stem(sizes)
        # Sines and cosines of the actual grid, in float32 even in a float64 model, as upstream.
        self.pos_embed = PositionalEncodingFourier(dim=sizes.embed_dim)
        self.blocks = nn.ModuleList(
            FanBlock(
                sizes.widths[layer],
                sizes.heads[layer],
                sizes.channel_heads[layer],
                twicing=layer in sizes.twicing_layers,
                width_after=sizes.widths[min(layer + 1, sizes.depth - 1)],
            )
            for layer in range(sizes.depth)
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.cls_attn_blocks = nn.ModuleList(
            ClassAttentionBlock(
                width,
                num_heads=sizes.heads[-1],
                qkv_bias=True,
                norm_layer=partial(nn.LayerNorm, eps=1e-6),  # type: ignore[arg-type]
                eta=1.0,
                tokens_norm=sizes.tokens_norm,
            )
            for _ in range(sizes.cls_attn_layers)
        )
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, sizes.num_classes)
        self.apply(_fresh_weights)
        nn.init.trunc_normal_(self.cls_token, std=0.02)

    def forward_features(self, images: Tensor) -> Tensor:
        """Normalised images (B, 3, H, W) to tokens (B, 1 + N, C) after the last norm."""
        x, grid = self.patch_embed(images)
        x = x + self.pos_embed(1, *grid).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x, grid = block(x, grid)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        for block in self.cls_attn_blocks:
            x = block(x)
        tokens: Tensor = self.norm(x)
        return tokens

    def forward(self, images: Tensor) -> Tensor:
        """Normalised images (B, 3, H, W) to logits (B, K)."""
        logits: Tensor = self.head(self.forward_features(images)[:, 0])
        return logits


def _stem(sizes: FanSizes) -> nn.Module:
    if isinstance(sizes, FanHybridSizes):
        return HybridStem(sizes.patch_size, sizes.embed_dim, sizes.stem_dims, sizes.stem_depths)
    return ConvStem(sizes.patch_size, sizes.embed_dim)


def _fresh_weights(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)
