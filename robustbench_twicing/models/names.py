"""The rows of the table of models: the DeiT family, and the small models for Fashion-MNIST."""

from collections.abc import Iterator
from typing import Any

from ..data.preprocessing import Preprocessing
from .fan_names import FAN
from .spec import ModelSpec

DEIT = "https://arxiv.org/abs/2012.12877"
SOURCES = {
    "neutreno": "https://arxiv.org/abs/2312.00751",
    "featscale": "https://arxiv.org/abs/2203.05962",
    "attnscale": "https://arxiv.org/abs/2203.05962",
    "twicing": "https://arxiv.org/abs/2503.00687",
}
"""Variant -> the paper that defines it."""
WIDTHS = {"tiny": (192, 3), "small": (384, 6), "base": (768, 12)}
"""Size -> width of a token, attention heads."""


def deit_preprocessing(img_size: int) -> Preprocessing:
    """The DeiT papers' evaluation: short side to 256/224 of the input, bicubic, centre crop."""
    return Preprocessing(crop=img_size, resize=int(256 / 224 * img_size))


def deit_specs() -> Iterator[ModelSpec]:
    """Plain and distilled DeiT, the four variants, and the 24-layer models of one paper."""
    yield from _plain_specs()
    yield from _variant_specs()
    yield from _deep_specs()


def _plain_specs() -> Iterator[ModelSpec]:
    sizes = [("tiny", 224), ("small", 224), ("base", 224), ("base", 384)]
    for family, infix in (("deit", ""), ("deit_distilled", "_distilled")):
        for size, pixels in sizes:
            name = f"deit_{size}{infix}_patch16_{pixels}"
            # The anti-oversmoothing repository calls its plain baseline our_small_12.
            baseline = family == "deit" and pixels == 224 and size != "tiny"
            yield ModelSpec(
                name=name,
                family=family,
                sizes=_sizes(size, img_size=pixels),
                preprocessing=deit_preprocessing(pixels),
                source=DEIT,
                timm_name=name,
                aliases=(f"our_{size}_12",) if baseline else (),
            )


def _variant_specs() -> Iterator[ModelSpec]:
    for family, source in SOURCES.items():
        for size in WIDTHS:
            yield ModelSpec(
                name=f"deit_{size}_{family}_patch16_224",
                family=family,
                sizes=_sizes(size),
                preprocessing=deit_preprocessing(224),
                source=source,
                aliases=_variant_aliases(family, size),
            )


def _variant_aliases(family: str, size: str) -> tuple[str, ...]:
    if family == "twicing":
        return (f"deit_sharp_{size}_patch16_224",)
    if family in ("featscale", "attnscale") and size != "tiny":
        return (f"{family}_{size}_12",)
    return ()


def _deep_specs() -> Iterator[ModelSpec]:
    for prefix, family in (("our", "deit"), ("featscale", "featscale"), ("attnscale", "attnscale")):
        for size in ("small", "base"):
            yield ModelSpec(
                name=f"{prefix}_{size}_24",
                family=family,
                sizes=_sizes(size, depth=24),
                preprocessing=deit_preprocessing(224),
                source=SOURCES["featscale"],
            )


def _sizes(size: str, *, depth: int = 12, img_size: int = 224) -> dict[str, Any]:
    width, heads = WIDTHS[size]
    return {
        "img_size": img_size,
        "patch_size": 16,
        "embed_dim": width,
        "depth": depth,
        "num_heads": heads,
        "num_classes": 1000,
    }


SIDE = 28
GREY_MEAN, GREY_STD = 0.2860, 0.3530
"""Of the training split's pixels in [0, 1]."""
DEIT_SIZES = {"embed_dim": 64, "depth": 4, "num_heads": 2}
FAN_SIZES = {"embed_dim": 48, "depth": 4, "num_heads": 2}
FAMILIES = {
    "deit": (DEIT, DEIT_SIZES),
    **{family: (source, DEIT_SIZES) for family, source in SOURCES.items()},
    "fan": (FAN, FAN_SIZES),
    "fan_twicing": (FAN, FAN_SIZES),
}


def fmnist_preprocessing() -> Preprocessing:
    """28 pixels as they are; anything else is resized and cropped to 28."""
    return Preprocessing(crop=SIDE, resize=SIDE, mean=(GREY_MEAN,) * 3, std=(GREY_STD,) * 3)


def fmnist_specs() -> Iterator[ModelSpec]:
    """``fmnist_deit``, ``fmnist_neutreno``, ..., ``fmnist_fan_twicing``."""
    shared: dict[str, Any] = {"img_size": SIDE, "patch_size": 4, "num_classes": 10}
    for family, (source, sizes) in FAMILIES.items():
        yield ModelSpec(
            name=f"fmnist_{family}",
            family=family,
            sizes={**shared, **sizes},
            preprocessing=fmnist_preprocessing(),
            source=source,
        )
