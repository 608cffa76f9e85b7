"""One FAN block: token mixing, channel processing and, where the width changes, downsampling."""

import torch
from torch import Tensor, nn

from .channel_processing import ChannelProcessing, SqueezeExciteMlp
from .stem import Grid, to_grid, to_tokens
from .token_mixing import TokenMixing


class Downsample(nn.Module):
    """Half the grid (rounding up) and another width: a 3x3 convolution of stride 2, then a norm."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(before, after, 3, stride=2, padding=1)
        self.norm = nn.LayerNorm(after, eps=1e-5)

    def forward(self, x: Tensor, grid: Grid) -> tuple[Tensor, Grid]:
        """Tokens (B, N, C) and their grid to tokens (B, N', C') and theirs."""
        x, grid = to_tokens(self.proj(to_grid(x, grid)))
        return self.norm(x), grid


class FanBlock(nn.Module):
    """x += gamma1 TM(norm1(x)); x += gamma2 CP(norm2(x)).

    Args:
        width: C, width of a token.
        num_heads: heads of the token mixing.
        channel_heads: heads of the channel gate; None for squeeze-and-excitation in its place.
        twicing: average twice in the token mixing; the gate has no average over tokens to repeat.
        width_after: width of the next block's tokens.
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        channel_heads: int | None,
        *,
        twicing: bool,
        width_after: int,
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = TokenMixing(width, num_heads, twicing=twicing)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = (
            SqueezeExciteMlp(width)
            if channel_heads is None
            else ChannelProcessing(width, channel_heads)
        )
        self.gamma1 = nn.Parameter(torch.ones(width))
        self.gamma2 = nn.Parameter(torch.ones(width))
        # For training: stochastic depth takes their places, and it does nothing in eval mode.
        self.drop_path1: nn.Module = nn.Identity()
        self.drop_path2: nn.Module = nn.Identity()
        self.downsample = Downsample(width, width_after) if width_after != width else None

    def forward(self, x: Tensor, grid: Grid) -> tuple[Tensor, Grid]:
        """Tokens (B, N, C) and their grid to the same of the next block."""
        x = x + self.drop_path1(self.gamma1 * self.attn(self.norm1(x)))
        x = x + self.drop_path2(self.gamma2 * self.mlp(self.norm2(x), grid))
        return (x, grid) if self.downsample is None else self.downsample(x, grid)
