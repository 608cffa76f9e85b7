"""From images to tokens: strided convolutions (FAN-ViT) or two ConvNeXt stages (FAN-Hybrid)."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from timm.models.convnext import ConvNeXtStage
from torch import Tensor, nn

from .channel_norm import ChannelNorm

Grid = tuple[int, int]
"""Rows and columns of the token grid."""
WIDTH_DIVISORS = {16: (8, 4, 2, 1), 8: (4, 2, 1), 4: (4, 1)}
"""Patch size -> width of each convolution as a fraction of the token's; each halves the grid."""


class ConvStem(nn.Module):
    """3x3 convolutions of stride 2, each with BatchNorm, GELU between them."""

    def __init__(self, patch_size: int, embed_dim: int) -> None:
        super().__init__()
        self.patch_size = patch_size
        widths = [3, *(embed_dim // divisor for divisor in WIDTH_DIVISORS[patch_size])]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            conv = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
            layers += [nn.Sequential(conv, nn.BatchNorm2d(after)), nn.GELU()]
        self.proj = nn.Sequential(*layers[:-1])

    def forward(self, images: Tensor) -> tuple[Tensor, Grid]:
        """Normalised images (B, 3, H, W) to tokens (B, N, C), row by row, and their grid."""
        return to_tokens(self.proj(images))


class ConvNeXtBackbone(nn.Module):
    """The first two stages of a ConvNeXt: total stride 8."""

    def __init__(self, dims: Sequence[int], depths: Sequence[int]) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, dims[0], 4, stride=4), ChannelNorm(dims[0], unbiased=False)
        )
        stages = [
            ConvNeXtStage(
                before,
                after,
                stride=stride,
                depth=depth,
                conv_mlp=True,
                norm_layer=partial(ChannelNorm, unbiased=True),
            )
            for before, after, stride, depth in zip(
                (dims[0], dims[0]), dims, (1, 2), depths, strict=True
            )
        ]
        self.stages = nn.Sequential(*stages)

    def forward(self, images: Tensor) -> Tensor:
        """Normalised images (B, 3, H, W) to (B, dims[1], H/8, W/8)."""
        features: Tensor = self.stages(self.stem(images))
        return features


class HybridStem(nn.Module):
    """ConvNeXt stages, then a patch embedding of the features."""

    def __init__(
        self, patch_size: int, embed_dim: int, dims: Sequence[int], depths: Sequence[int]
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.backbone = ConvNeXtBackbone(dims, depths)
        stride = patch_size // 8
        self.proj = nn.Conv2d(dims[1], embed_dim, stride, stride=stride)

    def forward(self, images: Tensor) -> tuple[Tensor, Grid]:
        """Normalised images (B, 3, H, W) to tokens (B, N, C), row by row, and their grid."""
        return to_tokens(self.proj(self.backbone(images)))


def to_tokens(features: Tensor) -> tuple[Tensor, Grid]:
    """Features (B, C, H, W) to tokens (B, H W, C) and (H, W).

    The gradient of a single image comes back with its channels side by side in memory, for which
    the BatchNorm of torch 2.14 computes another one on a CPU, and a wrong one.
    """
    if len(features) == 1 and features.requires_grad:
        features.register_hook(lambda gradient: gradient.contiguous())  # type: ignore[no-untyped-call]
    rows, columns = features.shape[2:]
    return features.flatten(2).transpose(1, 2), (rows, columns)


def to_grid(tokens: Tensor, grid: Grid) -> Tensor:
    """Tokens (B, H W, C) to features (B, C, H, W)."""
    return tokens.transpose(1, 2).view(len(tokens), -1, *grid)
