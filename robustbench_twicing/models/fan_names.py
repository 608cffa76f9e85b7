"""FAN's rows of the table of models."""

from collections.abc import Iterator
from typing import Any

from ..data.preprocessing import Preprocessing
from ..errors import UserError
from .sizes import DEIT_ONLY
from .spec import ModelSpec

FAN = "https://arxiv.org/abs/2204.12451"
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


def fan_preprocessing(img_size: int) -> Preprocessing:
    """FAN's evaluation: short side to the input size, bicubic, centre crop."""
    return Preprocessing(crop=img_size, resize=img_size)


def fan_specs() -> Iterator[ModelSpec]:
    """Every FAN with a convolutional or a ConvNeXt stem, plain and twicing."""
    for name, sizes in VIT.items():
        yield _spec(name, "fan", sizes)
        yield _spec(f"{name}_twicing", "fan_twicing", sizes)
    for name, sizes in HYBRID.items():
        yield _spec(name, "fan_hybrid", sizes)
        yield _spec(f"{name}_twicing", "fan_hybrid", {**sizes, "twicing": True})


def refuse_unsupported(name: str) -> None:
    """Explain the FAN names that somebody may well ask for and that cannot be had.

    Raises:
        UserError: a FAN-Swin, or a FAN with a variant that is defined for DeiT alone.
    """
    if name.startswith("fan_swin"):
        raise UserError(
            f"{name!r}: FAN on Swin is not supported; FAN-ViT (fan_*_p16_224) and FAN-Hybrid "
            "(fan_*_p4_hybrid) are"
        )
    for variant in DEIT_ONLY:
        if name.startswith("fan_") and variant in name:
            raise UserError(
                f"{name!r}: {variant} is for DeiT alone; FAN comes plain and as fan_*_twicing"
            )


def _spec(name: str, family: str, sizes: dict[str, Any]) -> ModelSpec:
    return ModelSpec(
        name=name,
        family=family,
        sizes={"img_size": 224, "patch_size": 16, "num_classes": 1000, **sizes},
        preprocessing=fan_preprocessing(224),
        source=FAN,
    )
