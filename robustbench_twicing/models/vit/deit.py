"""From sizes to a network of the DeiT family."""

from collections.abc import Callable
from functools import partial
from typing import Any

from timm.layers.norm import LayerNorm
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from ..sizes import DeitSizes
from .twicing import make_twicing

__all__ = ["VisionTransformerDistilled", "build_vit"]


def build_vit(
    sizes: DeitSizes, network: Callable[..., nn.Module] = VisionTransformer, **options: Any
) -> nn.Module:
    """The bare network: normalised images (B, 3, H, W) to logits (B, K).

    The distilled network returns the mean of its two heads.

    Args:
        sizes: whose ``twicing_layers`` average twice.
        network: timm's, or one with its arguments.
        options: further arguments of the network, as ``block_fn``.
    """
    built = network(
        img_size=sizes.img_size,
        patch_size=sizes.patch_size,
        embed_dim=sizes.embed_dim,
        depth=sizes.depth,
        num_heads=sizes.num_heads,
        num_classes=sizes.num_classes,
        mlp_ratio=sizes.mlp_ratio,
        norm_layer=partial(LayerNorm, eps=sizes.norm_eps),
        **options,
    )
    return make_twicing(built, sizes.twicing_layers)
