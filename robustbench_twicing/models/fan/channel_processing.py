"""FAN's channel processing: an MLP with convolutions, then one gate per channel."""

import torch
from timm.models._efficientnet_blocks import SqueezeExcite
from timm.models.xcit import LPI
from torch import Tensor, nn

from .stem import Grid, to_grid


class ConvMlp(nn.Module):
    """fc2(t + gamma DW(t)) with t = fc1(z): depthwise convolutions are the only non-linear part.

    DW is XCiT's local patch interaction: 3x3, GELU, BatchNorm, 3x3, each channel by itself.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        hidden = 4 * width
        self.fc1 = nn.Linear(width, hidden)
        self.dwconv = LPI(hidden)
        self.gamma = nn.Parameter(torch.ones(hidden))
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, z: Tensor, grid: Grid) -> Tensor:
        """Tokens (B, N, C) on a grid of N places to tokens (B, N, C)."""
        t = self.fc1(z)
        mixed: Tensor = self.fc2(t + self.gamma * self.dwconv(t, *grid))
        return mixed


class SqueezeExciteMlp(ConvMlp):
    """ConvMlp, then squeeze-and-excitation over the tokens (the published code cannot run it)."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.se = SqueezeExcite(width)

    def forward(self, z: Tensor, grid: Grid) -> Tensor:
        """Tokens (B, N, C) on a grid of N places to tokens (B, N, C)."""
        excited: Tensor = self.se(to_grid(super().forward(z, grid), grid))
        return excited.flatten(2).transpose(1, 2)


class ChannelProcessing(nn.Module):
    """norm_v(ConvMlp(z)) times one gate per channel, the same for all tokens.

    The gate of channel j is sigmoid(sum over tokens of a query and a key) times the temperature of
    its head; both are softmaxes over the TOKENS, the key of z itself, averaged over the head.

    Args:
        width: C, width of a token.
        num_heads: groups of channels that share a key and a temperature.
    """

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.temperature = nn.Parameter(torch.ones(num_heads, 1, 1))
        self.q = nn.Linear(width, width)
        self.mlp_v = ConvMlp(width)
        # The only norm of the blocks with this eps; all others have 1e-6.
        self.norm_v = nn.LayerNorm(width, eps=1e-5)

    def forward(self, z: Tensor, grid: Grid) -> Tensor:
        """Tokens (B, N, C) on a grid of N places to tokens (B, N, C)."""
        batch, tokens, _ = z.shape
        heads = (batch, tokens, self.num_heads, -1)
        query = self.q(z).softmax(dim=1).view(heads).transpose(1, 2)
        key = z.softmax(dim=1).view(heads).mean(dim=3).transpose(1, 2).unsqueeze(2)
        gate = (key @ query).sigmoid() * self.temperature
        gated: Tensor = gate.view(batch, 1, -1) * self.norm_v(self.mlp_v(z, grid))
        return gated
