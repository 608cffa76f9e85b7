"""FAN's attention over tokens, with a single or a twicing average."""

from timm.layers.config import use_fused_attn
from torch import Tensor, nn

from ..attention import average, average_twice


class TokenMixing(nn.Module):
    """Softmax attention; as in DeiT, but q apart from k and v.

    Args:
        width: C, width of a token.
        num_heads: h.
        twicing: average twice, (2A - A^2) v.
    """

    def __init__(self, width: int, num_heads: int, *, twicing: bool) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.proj = nn.Linear(width, width)
        self.averages_twice = twicing
        self.average = average_twice if twicing else average
        # As in DeiT: one explicit A serves both averages, which beats two fused kernels in time.
        self.fused_attn = not twicing and use_fused_attn()

    def forward(self, x: Tensor) -> Tensor:
        """Tokens (B, N, C) to tokens (B, N, C)."""
        q = self.q(x).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
        k, v = self.kv(x).unflatten(2, (2, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        y = self.average(q, k, v, fused=self.fused_attn)
        mixed: Tensor = self.proj(y.transpose(1, 2).flatten(2))
        return mixed
