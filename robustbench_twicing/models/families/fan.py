"""FAN with a convolutional or a ConvNeXt stem, plain and twicing."""

import re
from typing import TYPE_CHECKING, Any

from ...data.preprocessing import Preprocessing
from ..family import Family, Seen, Shapes
from ..fan_sizes import FanHybridSizes, FanSizes, FanTwicingSizes
from ..spec import ModelSpec
from .declaration import declare
from .fmnist import fmnist_spec
from .shown import depth, length

if TYPE_CHECKING:
    from torch import nn

FAN = "https://arxiv.org/abs/2204.12451"
BACKBONE = "FAN"
VIT_KEYS = "a FAN-ViT (attn.q and attn.kv, cls_attn_blocks, convolutional stem)"
HYBRID_KEYS = "a FAN-Hybrid (attn.q and attn.kv, ConvNeXt stem patch_embed.backbone)"
_STEM = re.compile(r"patch_embed\.proj\.\d+\.0\.weight")
XLARGE = {"channel_dims": (528,) * 20 + (768,) * 3, "num_heads": (11,) * 20 + (16,) * 3}
VIT: dict[str, dict[str, Any]] = {
    "fan_tiny_12_p16_224": {"embed_dim": 192, "depth": 12, "num_heads": 4},
    "fan_small_12_p16_224": {"embed_dim": 384, "depth": 12, "num_heads": 8},
    "fan_base_18_p16_224": {"embed_dim": 448, "depth": 18, "num_heads": 8},
    "fan_large_24_p16_224": {"embed_dim": 480, "depth": 24, "num_heads": 10},
    "fan_small_12_p16_224_se_attn": {
        "embed_dim": 384,
        "depth": 12,
        "num_heads": 8,
        "se_mlp": True,
    },
}
HYBRID: dict[str, dict[str, Any]] = {
    "fan_tiny_8_p4_hybrid": {"embed_dim": 192, "depth": 8, "num_heads": 8},
    # Ten blocks, whatever the name says.
    "fan_small_12_p4_hybrid": {"embed_dim": 384, "depth": 10, "num_heads": 8},
    "fan_base_16_p4_hybrid": {"embed_dim": 448, "depth": 16, "num_heads": 8},
    "fan_large_16_p4_hybrid": {
        "embed_dim": 480,
        "depth": 22,
        "num_heads": 10,
        "stem_depths": (3, 5),
    },
    "fan_Xlarge_16_p4_hybrid": {"embed_dim": 528, "depth": 23, **XLARGE, "stem_depths": (3, 7)},
}
UNSUPPORTED = {
    "fan_swin*": "FAN on Swin is not supported; FAN-ViT (fan_*_p16_224) and FAN-Hybrid "
    "(fan_*_p4_hybrid) are",
    **{
        f"fan_*{variant}*": f"{variant} is for DeiT alone; FAN comes plain and as fan_*_twicing"
        for variant in ("neutreno", "featscale", "attnscale")
    },
}
"""FAN on Swin, and variants that nobody has defined on FAN's token mixing."""


def _fan(sizes: FanSizes) -> "nn.Module":
    from ..fan.network import Fan

    return Fan(sizes)


def _seen(shapes: Shapes) -> Seen:
    convolutions = sum(1 for key in shapes if _STEM.fullmatch(key))
    return {
        "embed_dim": length(shapes, "blocks.0.norm1.weight"),
        "depth": depth(shapes),
        "patch_size": 2**convolutions if convolutions else None,
        "num_heads": length(shapes, "blocks.0.mlp.temperature"),
        "se_mlp": any(".mlp.se." in key for key in shapes),
        "num_classes": length(shapes, "head.weight"),
    }


def _model(name: str, family: str, sizes: dict[str, Any]) -> ModelSpec:
    """A model as the FAN paper evaluates it: short side to the input size, bicubic."""
    return ModelSpec(
        name=name,
        family=family,
        sizes={"img_size": 224, "patch_size": 16, "num_classes": 1000, **sizes},
        preprocessing=Preprocessing(crop=224, resize=224),
        source=FAN,
    )


declare(
    Family("fan", FanSizes, _fan, VIT_KEYS, _seen, BACKBONE, plain=True, unsupported=UNSUPPORTED),
    *(_model(name, "fan", sizes) for name, sizes in VIT.items()),
    fmnist_spec("fan", FAN, embed_dim=48),
)
declare(
    Family("fan_twicing", FanTwicingSizes, _fan, VIT_KEYS, _seen, BACKBONE),
    *(_model(f"{name}_twicing", "fan_twicing", sizes) for name, sizes in VIT.items()),
    fmnist_spec("fan_twicing", FAN, embed_dim=48),
)
declare(
    Family("fan_hybrid", FanHybridSizes, _fan, HYBRID_KEYS, _seen, BACKBONE, plain=True),
    *(
        _model(name + suffix, "fan_hybrid", {**sizes, **twicing})
        for name, sizes in HYBRID.items()
        for suffix, twicing in (("", {}), ("_twicing", {"twicing": True}))
    ),
)
