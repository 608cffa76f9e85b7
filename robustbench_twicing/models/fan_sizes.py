"""The sizes `build_model` accepts for FAN, checked before anything is built."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UserError
from .checks import check_counts, check_heads
from .placement import check_layers
from .sizes import Sizes, TwicingLayers

Counts = int | Sequence[int]
"""One number for all blocks, or one number a block."""


@dataclass(frozen=True, kw_only=True)
class FanSizes(Sizes):
    """Sizes of a FAN-ViT; the defaults are FAN-tiny.

    Attributes:
        img_size: side of the input in pixels that the model is meant for; any size runs.
        patch_size: pixels of the image to a token's side: 16, 8 or 4.
        embed_dim: width of a token in the first block.
        depth: number of blocks.
        num_heads: attention heads, of all blocks or of each.
        num_classes: number of logits.
        tokens_norm: whether the class-attention blocks normalise patch tokens too.
        cls_attn_layers: number of class-attention blocks.
        c_head_num: heads of the channel gate, of all blocks or of each; None means `num_heads`.
        se_mlp: squeeze-and-excitation in place of the channel gate.
        channel_dims: width of each block's tokens; a change halves the grid. None: `embed_dim`.
    """

    img_size: int = 224
    patch_size: int = 16
    embed_dim: int = 192
    depth: int = 12
    num_heads: Counts = 4
    num_classes: int = 1000
    tokens_norm: bool = True
    cls_attn_layers: int = 2
    c_head_num: Counts | None = None
    se_mlp: bool = False
    channel_dims: Sequence[int] | None = None

    patches = (4, 8, 16)

    def __post_init__(self) -> None:
        check_counts(
            img_size=self.img_size,
            patch_size=self.patch_size,
            embed_dim=self.embed_dim,
            depth=self.depth,
            num_classes=self.num_classes,
            cls_attn_layers=self.cls_attn_layers,
            num_heads=self.heads,
            c_head_num=self._per_block(self.c_head_num or 1, "c_head_num"),
            channel_dims=self.widths,
        )
        super().__post_init__()
        if self.patch_size not in self.patches:
            raise UserError(f"patch_size {self.patch_size} is none of {self.patches} for this FAN")
        if self.widths[0] != self.embed_dim:
            raise UserError(
                f"channel_dims begin with {self.widths[0]}, not with embed_dim {self.embed_dim}"
            )
        for width, heads, channel_heads in zip(
            self.widths, self.heads, self.channel_heads, strict=True
        ):
            check_heads(width, heads)
            check_heads(width, channel_heads or 1, name="c_head_num")

    @property
    def heads(self) -> tuple[int, ...]:
        """Attention heads of each block."""
        return self._per_block(self.num_heads, "num_heads")

    @property
    def channel_heads(self) -> tuple[int | None, ...]:
        """Heads of each block's channel gate; None where there is no gate."""
        if self.se_mlp:
            return (None,) * self.depth
        if self.c_head_num is None:
            return self.heads
        return self._per_block(self.c_head_num, "c_head_num")

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of each block's tokens."""
        return self._per_block(
            self.embed_dim if self.channel_dims is None else self.channel_dims, "channel_dims"
        )

    def _per_block(self, counts: Counts, name: str) -> tuple[int, ...]:
        if isinstance(counts, int):
            return (counts,) * self.depth
        if len(counts) != self.depth:
            raise UserError(f"{name} {tuple(counts)} must have one entry a block, {self.depth}")
        return tuple(counts)


@dataclass(frozen=True, kw_only=True)
class FanTwicingSizes(TwicingLayers, FanSizes):
    """Sizes of a FAN-ViT with twicing attention."""


@dataclass(frozen=True, kw_only=True)
class FanHybridSizes(FanSizes):
    """Sizes of a FAN-Hybrid; the defaults are FAN-tiny's blocks on the hybrids' stem.

    Attributes:
        patch_size: pixels of the image to a token's side: 32, 16 or 8.
        stem_dims: widths of the two ConvNeXt stages.
        stem_depths: blocks of the two ConvNeXt stages.
        twicing: whether blocks average twice.
        layers: 0-based indices of the twicing blocks; None means all. Only with `twicing`.
    """

    stem_dims: Sequence[int] = (128, 256)
    stem_depths: Sequence[int] = (3, 3)
    twicing: bool = False
    layers: Sequence[int] | None = None

    patches = (8, 16, 32)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(stem_dims=tuple(self.stem_dims), stem_depths=tuple(self.stem_depths))
        if len(self.stem_dims) != 2 or len(self.stem_depths) != 2:
            raise UserError("stem_dims and stem_depths are two numbers each, one a ConvNeXt stage")
        if self.layers is not None and not self.twicing:
            raise UserError("layers places twicing blocks; a fan_hybrid needs twicing=True for it")
        check_layers(self.layers, self.depth)

    @property
    def twicing_layers(self) -> tuple[int, ...]:
        """0-based indices of the blocks that average twice."""
        return check_layers(self.layers, self.depth) if self.twicing else ()
