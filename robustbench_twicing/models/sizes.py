"""The sizes `build_model` accepts for each family, checked before anything is built."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from ..errors import UserError
from ..registry import Registry
from .checks import AttentionForm, check_attention, check_counts, check_heads
from .fan_sizes import FanHybridSizes, FanSizes, FanTwicingSizes
from .placement import check_layers


@dataclass(frozen=True, kw_only=True)
class DeitSizes:
    """Sizes of a DeiT; the defaults are DeiT-tiny.

    Attributes:
        img_size: side of the square input in pixels, or (height, width).
        patch_size: side of a patch in pixels.
        embed_dim: width of a token.
        depth: number of blocks.
        num_heads: attention heads of a block.
        num_classes: number of logits.
        mlp_ratio: width of the hidden layer of the MLP over `embed_dim`.
        attention: ``explicit`` forms the matrix A everywhere, ``fused`` nowhere; ``auto`` where an
            explicit A is quicker (twicing layers).
    """

    img_size: int | tuple[int, int] = 224
    patch_size: int = 16
    embed_dim: int = 192
    depth: int = 12
    num_heads: int = 3
    num_classes: int = 1000
    mlp_ratio: float = 4.0
    attention: AttentionForm = "auto"

    def __post_init__(self) -> None:
        sides = self.img_size if isinstance(self.img_size, tuple) else (self.img_size,)
        check_counts(
            img_size=sides,
            patch_size=self.patch_size,
            embed_dim=self.embed_dim,
            depth=self.depth,
            num_heads=self.num_heads,
            num_classes=self.num_classes,
        )
        check_attention(self.attention)
        if any(side % self.patch_size for side in sides):
            raise UserError(
                f"img_size {self.img_size} is not a multiple of patch_size {self.patch_size}"
            )
        check_heads(self.embed_dim, self.num_heads)


@dataclass(frozen=True, kw_only=True)
class TwicingSizes(DeitSizes):
    """Sizes of a Twicing-DeiT.

    Attributes:
        layers: 0-based indices of the twicing layers; None means all.
    """

    layers: Sequence[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "layers", check_layers(self.layers, self.depth))


@dataclass(frozen=True, kw_only=True)
class TimmSizes:
    """What may be said of one of timm's models.

    Attributes:
        timm_name: timm's name, with or without a tag.
        num_classes: number of logits; None leaves timm's.
        img_size: side of the input in pixels; None leaves timm's.
        attention: as in `DeitSizes`.
    """

    timm_name: str
    num_classes: int | None = None
    img_size: int | None = None
    attention: AttentionForm = "auto"

    def __post_init__(self) -> None:
        check_counts(num_classes=self.num_classes or 1, img_size=self.img_size or 1)
        check_attention(self.attention)


Sizes = DeitSizes | FanSizes | TimmSizes
SIZES: Registry[type[Sizes]] = Registry("model family")
"""Family -> its sizes."""
for _family in ("deit", "deit_distilled", "neutreno", "featscale", "attnscale"):
    SIZES[_family] = DeitSizes
SIZES["twicing"] = TwicingSizes
SIZES["fan"] = FanSizes
SIZES["fan_twicing"] = FanTwicingSizes
SIZES["fan_hybrid"] = FanHybridSizes
SIZES["timm"] = TimmSizes
DEIT_ONLY = ("neutreno", "featscale", "attnscale")
"""Variants that nobody has defined on FAN's token mixing."""


def read_sizes(family: str, sizes: Mapping[str, Any]) -> Sizes:
    """The checked sizes of one family.

    Raises:
        UserError: an unknown family, an unknown size, or sizes that do not fit together.
    """
    base, _, variant = family.partition("_")
    if base == "fan" and variant in DEIT_ONLY:
        raise UserError(f"{variant} is defined for DeiT alone; FAN has fan_twicing and fan_hybrid")
    kind = SIZES[family]
    known = [each.name for each in fields(kind)]
    for name in sizes:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UserError(
                f"a {family} model has no size {name!r}.{hint} Known: {', '.join(known)}"
            )
    if kind is TimmSizes and "timm_name" not in sizes:
        raise UserError("a timm model needs timm_name, like 'resnet50'")
    return kind(**sizes)
