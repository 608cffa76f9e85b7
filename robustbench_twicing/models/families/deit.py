"""DeiT, plain and distilled, and its attention variants."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...data.preprocessing import Preprocessing
from ..family import Family, Seen, Shapes
from ..sizes import DeitSizes, TwicingSizes
from ..spec import ModelSpec
from .declaration import declare
from .fmnist import fmnist_spec
from .shown import depth, grid, length

if TYPE_CHECKING:
    from torch import nn

DEIT = "https://arxiv.org/abs/2012.12877"
NEUTRENO = "https://arxiv.org/abs/2312.00751"
SCALING = "https://arxiv.org/abs/2203.05962"
TWICING = "https://arxiv.org/abs/2503.00687"
WIDTHS = {"tiny": (192, 3), "small": (384, 6), "base": (768, 12)}
"""Size -> width of a token, attention heads."""
BACKBONE = "DeiT"
PLAIN_KEYS = "a DeiT-like ViT (fused attn.qkv)"


def _deit(sizes: DeitSizes) -> "nn.Module":
    from ..vit.deit import build_vit

    return build_vit(sizes)


def _distilled(sizes: DeitSizes) -> "nn.Module":
    from ..vit.deit import VisionTransformerDistilled, build_vit

    return build_vit(sizes, VisionTransformerDistilled)


def _neutreno(sizes: DeitSizes) -> "nn.Module":
    from ..vit.deit import build_vit
    from ..vit.neutreno import NeutrenoTransformer

    return build_vit(sizes, NeutrenoTransformer)


def _featscale(sizes: DeitSizes) -> "nn.Module":
    from ..vit.deit import build_vit
    from ..vit.oversmoothing import FeatScaleBlock

    return build_vit(sizes, block_fn=FeatScaleBlock)


def _attnscale(sizes: DeitSizes) -> "nn.Module":
    from ..vit.deit import build_vit
    from ..vit.oversmoothing import AttnScaleBlock

    return build_vit(sizes, block_fn=AttnScaleBlock)


def _seen(shapes: Shapes) -> Seen:
    return {
        "embed_dim": length(shapes, "blocks.0.norm1.weight"),
        "depth": depth(shapes),
        "patch_size": length(shapes, "patch_embed.proj.weight", -1),
        "num_heads": length(shapes, "blocks.0.attn.lamb"),
        "grid": grid(shapes, 2 if "dist_token" in shapes else 1),
        "num_classes": length(shapes, "head.weight"),
    }


def _model(
    name: str,
    family: str,
    size: str,
    source: str,
    *aliases: str,
    layers: int = 12,
    pixels: int = 224,
    timm_name: str | None = None,
) -> ModelSpec:
    """A model as the DeiT papers evaluate it: short side to 256/224 of the input, bicubic."""
    width, heads = WIDTHS[size]
    sizes: dict[str, Any] = {
        "img_size": pixels,
        "patch_size": 16,
        "embed_dim": width,
        "depth": layers,
        "num_heads": heads,
        "num_classes": 1000,
    }
    preprocessing = Preprocessing(crop=pixels, resize=int(256 / 224 * pixels))
    return ModelSpec(name, family, sizes, preprocessing, source, timm_name, aliases)


def _published(family: str, infix: str = "") -> Iterator[ModelSpec]:
    """The models that the DeiT paper publishes."""
    for size, pixels in (("tiny", 224), ("small", 224), ("base", 224), ("base", 384)):
        name = f"deit_{size}{infix}_patch16_{pixels}"
        # The anti-oversmoothing repository calls its plain baseline our_small_12.
        is_baseline = family == "deit" and pixels == 224 and size != "tiny"
        aliases = [f"our_{size}_12"] if is_baseline else []
        yield _model(name, family, size, DEIT, *aliases, pixels=pixels, timm_name=name)


def _variants(family: str, source: str, alias: str = "", *aliased: str) -> Iterator[ModelSpec]:
    """A variant in the three sizes, with what its authors call it in some of them."""
    for size in WIDTHS:
        aliases = [alias.format(size)] if size in aliased else []
        yield _model(f"deit_{size}_{family}_patch16_224", family, size, source, *aliases)


def _deep(family: str, prefix: str) -> Iterator[ModelSpec]:
    """The models of 24 layers of the anti-oversmoothing paper."""
    for size in ("small", "base"):
        yield _model(f"{prefix}_{size}_24", family, size, SCALING, layers=24)


declare(
    Family("deit", DeitSizes, _deit, PLAIN_KEYS, _seen, BACKBONE, plain=True),
    *_published("deit"),
    *_deep("deit", "our"),
    fmnist_spec("deit", DEIT),
)
declare(
    Family(
        "deit_distilled",
        DeitSizes,
        _distilled,
        "a distilled DeiT (dist_token and head_dist)",
        _seen,
        BACKBONE,
    ),
    *_published("deit_distilled", "_distilled"),
)
declare(
    Family(
        "neutreno",
        DeitSizes,
        _neutreno,
        PLAIN_KEYS,
        _seen,
        BACKBONE,
        note="NeuTRENO's alpha is 0.6, a constant of the architecture.",
    ),
    *_variants("neutreno", NEUTRENO),
    fmnist_spec("neutreno", NEUTRENO),
)
declare(
    Family(
        "featscale",
        DeitSizes,
        _featscale,
        "a FeatScale DeiT (lamb1 and lamb2 in every block)",
        _seen,
        BACKBONE,
        note="FeatScale adds its rescaled parts twice, as the released code and weights do.",
    ),
    *_variants("featscale", SCALING, "featscale_{}_12", "small", "base"),
    *_deep("featscale", "featscale"),
    fmnist_spec("featscale", SCALING),
)
declare(
    Family(
        "attnscale",
        DeitSizes,
        _attnscale,
        "an AttnScale DeiT (attn.lamb in every block)",
        _seen,
        BACKBONE,
    ),
    *_variants("attnscale", SCALING, "attnscale_{}_12", "small", "base"),
    *_deep("attnscale", "attnscale"),
    fmnist_spec("attnscale", SCALING),
)
declare(
    Family("twicing", TwicingSizes, _deit, PLAIN_KEYS, _seen, BACKBONE),
    *_variants("twicing", TWICING, "deit_sharp_{}_patch16_224", *WIDTHS),
    fmnist_spec("twicing", TWICING),
)
