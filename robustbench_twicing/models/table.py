"""The table of models: every name of ours and of the papers' repositories."""

from fnmatch import fnmatchcase
from typing import Any

from ..preprocessing import Preprocessing
from ..registry import Registry
from .spec import ModelSpec

MODELS: Registry[ModelSpec] = Registry("model")
"""Canonical name -> what it means."""
ALIASES: Registry[str] = Registry("alias")
"""Other spelling -> canonical name."""

DEIT = "https://arxiv.org/abs/2012.12877"
SOURCES = {
    "neutreno": "https://arxiv.org/abs/2312.00751",
    "featscale": "https://arxiv.org/abs/2203.05962",
    "attnscale": "https://arxiv.org/abs/2203.05962",
    "twicing": "https://arxiv.org/abs/2503.00687",
}
DEIT_WIDTHS = {"tiny": (192, 3), "small": (384, 6), "base": (768, 12)}
"""Size -> width of a token, attention heads."""


def list_models(pattern: str | None = None) -> list[str]:
    """Every name that is ours, aliases included, sorted.

    Args:
        pattern: keep names that contain it, or that match it where it has ``*``, ``?`` or ``[``.
    """
    names = sorted([*MODELS, *ALIASES])
    if pattern is None:
        return names
    if not set(pattern) & set("*?["):
        pattern = f"*{pattern}*"
    return [name for name in names if fnmatchcase(name, pattern)]


def register(spec: ModelSpec) -> None:
    """Add a model and its aliases; no name may mean two things."""
    MODELS[spec.name] = spec
    for alias in spec.aliases:
        if alias in MODELS:
            raise ValueError(f"alias {alias!r} is a model already")
        ALIASES[alias] = spec.name


def deit_preprocessing(img_size: int) -> Preprocessing:
    """The DeiT papers' evaluation: short side to 256/224 of the input, bicubic, centre crop."""
    return Preprocessing(crop=img_size, resize=int(256 / 224 * img_size))


def _deit_sizes(size: str, depth: int = 12, img_size: int = 224) -> dict[str, Any]:
    width, heads = DEIT_WIDTHS[size]
    return {
        "img_size": img_size,
        "patch_size": 16,
        "embed_dim": width,
        "depth": depth,
        "num_heads": heads,
        "num_classes": 1000,
    }


def _register_deit() -> None:
    sizes = [("tiny", 224), ("small", 224), ("base", 224), ("base", 384)]
    for family, infix in (("deit", ""), ("deit_distilled", "_distilled")):
        for size, pixels in sizes:
            name = f"deit_{size}{infix}_patch16_{pixels}"
            register(
                ModelSpec(
                    name=name,
                    family=family,
                    sizes=_deit_sizes(size, img_size=pixels),
                    preprocessing=deit_preprocessing(pixels),
                    source=DEIT,
                    timm_name=name,
                    aliases=_plain_aliases(family, size, pixels),
                )
            )


def _plain_aliases(family: str, size: str, pixels: int) -> tuple[str, ...]:
    # The anti-oversmoothing repository calls its plain baseline our_small_12.
    if family == "deit" and pixels == 224 and size != "tiny":
        return (f"our_{size}_12",)
    return ()


def _register_variants() -> None:
    for family, source in SOURCES.items():
        for size in DEIT_WIDTHS:
            register(
                ModelSpec(
                    name=f"deit_{size}_{family}_patch16_224",
                    family=family,
                    sizes=_deit_sizes(size),
                    preprocessing=deit_preprocessing(224),
                    source=source,
                    aliases=_variant_aliases(family, size),
                )
            )


def _variant_aliases(family: str, size: str) -> tuple[str, ...]:
    if family == "twicing":
        return (f"deit_sharp_{size}_patch16_224",)
    if family in ("featscale", "attnscale") and size != "tiny":
        return (f"{family}_{size}_12",)
    return ()


def _register_deep() -> None:
    for prefix, family in (("our", "deit"), ("featscale", "featscale"), ("attnscale", "attnscale")):
        for size in ("small", "base"):
            register(
                ModelSpec(
                    name=f"{prefix}_{size}_24",
                    family=family,
                    sizes=_deit_sizes(size, depth=24),
                    preprocessing=deit_preprocessing(224),
                    source=SOURCES["featscale"],
                )
            )


_register_deit()
_register_variants()
_register_deep()
