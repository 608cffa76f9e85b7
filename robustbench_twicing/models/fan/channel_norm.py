"""LayerNorm over the channels of an image, with the variance the released FAN-Hybrids had."""

import torch
from torch import Tensor, nn


class ChannelNorm(nn.Module):
    """Normalise (B, C, H, W) over C at each place, then scale and shift per channel.

    Args:
        channels: C.
        unbiased: divide the squares by C - 1 instead of C. The original code took the one or the
            other by the memory layout of its input: C in the very first norm of the stem, C - 1 in
            all later ones. Here the choice is made by name and memory layout is ignored.
        device: where the parameters live; timm's stages pass it on.
        dtype: of the parameters.
    """

    EPS = 1e-6

    def __init__(
        self,
        channels: int,
        *,
        unbiased: bool,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(channels, device=device, dtype=dtype))
        self.correction = int(unbiased)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to (B, C, H, W)."""
        var, mean = torch.var_mean(x, dim=1, correction=self.correction, keepdim=True)
        scale = self.weight.view(-1, 1, 1) * torch.rsqrt(var + self.EPS)
        return (x - mean) * scale + self.bias.view(-1, 1, 1)
