"""From sizes to a network of the DeiT family."""

from collections.abc import Callable
from functools import partial

from timm.layers.norm import LayerNorm
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from ..sizes import DeitSizes, TwicingSizes
from .neutreno import NeutrenoTransformer
from .oversmoothing import AttnScaleBlock, FeatScaleBlock
from .twicing import make_twicing

NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "deit": VisionTransformer,
    "deit_distilled": VisionTransformerDistilled,
    "neutreno": NeutrenoTransformer,
    "featscale": partial(VisionTransformer, block_fn=FeatScaleBlock),
    "attnscale": partial(VisionTransformer, block_fn=AttnScaleBlock),
    "twicing": VisionTransformer,
}


def build_vit(family: str, sizes: DeitSizes) -> nn.Module:
    """The bare network: normalised images (B, 3, H, W) to logits (B, K).

    The distilled network returns the mean of its two heads.
    """
    network = NETWORKS[family](
        img_size=sizes.img_size,
        patch_size=sizes.patch_size,
        embed_dim=sizes.embed_dim,
        depth=sizes.depth,
        num_heads=sizes.num_heads,
        num_classes=sizes.num_classes,
        mlp_ratio=sizes.mlp_ratio,
        norm_layer=partial(LayerNorm, eps=1e-6),
    )
    if isinstance(sizes, TwicingSizes):
        make_twicing(network, sizes.layers or ())
    return network
