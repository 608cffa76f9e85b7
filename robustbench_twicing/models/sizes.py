"""The sizes of DeiT and of timm's models, and what the sizes of every family share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UserError
from .checks import AttentionForm, check_attention, check_counts, check_heads
from .placement import check_layers


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The keyword arguments of `build_model`, checked before anything is built.

    A family adds its own, among them ``img_size``, which `--crop` sets, and ``num_classes``.

    Attributes:
        attention: ``explicit`` forms the matrix A everywhere, ``fused`` nowhere; ``auto`` where an
            explicit A is quicker (twicing layers).

    Raises:
        UserError: sizes that do not fit together.
    """

    attention: AttentionForm = "auto"

    def __post_init__(self) -> None:
        check_attention(self.attention)

    @property
    def twicing_layers(self) -> tuple[int, ...]:
        """0-based indices of the layers that average twice."""
        return ()


@dataclass(frozen=True, kw_only=True)
class DeitSizes(Sizes):
    """Sizes of a DeiT; the defaults are DeiT-tiny.

    Attributes:
        img_size: side of the square input in pixels, or (height, width).
        patch_size: side of a patch in pixels.
        embed_dim: width of a token.
        depth: number of blocks.
        num_heads: attention heads of a block.
        num_classes: number of logits.
        mlp_ratio: width of the hidden layer of the MLP over `embed_dim`.
        norm_eps: what every LayerNorm adds to the variance.
    """

    img_size: int | tuple[int, int] = 224
    patch_size: int = 16
    embed_dim: int = 192
    depth: int = 12
    num_heads: int = 3
    num_classes: int = 1000
    mlp_ratio: float = 4.0
    norm_eps: float = 1e-6

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
        super().__post_init__()
        if isinstance(self.norm_eps, bool) or not 0 < self.norm_eps < 1:
            raise UserError(f"norm_eps {self.norm_eps!r} is not a number between 0 and 1")
        if any(side % self.patch_size for side in sides):
            raise UserError(
                f"img_size {self.img_size} is not a multiple of patch_size {self.patch_size}"
            )
        check_heads(self.embed_dim, self.num_heads)


@dataclass(frozen=True, kw_only=True)
class TwicingLayers(Sizes):
    """The sizes of a backbone, which follow as a second base, with twicing in some layers.

    Attributes:
        layers: 0-based indices of the twicing layers; None means all.
    """

    layers: Sequence[int] | None = None

    if TYPE_CHECKING:

        @property
        def depth(self) -> int:
            """Of the backbone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_layers(self.layers, self.depth)

    @property
    def twicing_layers(self) -> tuple[int, ...]:
        """0-based indices of the layers that average twice."""
        return check_layers(self.layers, self.depth)


@dataclass(frozen=True, kw_only=True)
class TwicingSizes(TwicingLayers, DeitSizes):
    """Sizes of a Twicing-DeiT."""


@dataclass(frozen=True, kw_only=True)
class TimmSizes(Sizes):
    """What may be said of one of timm's models.

    Attributes:
        timm_name: timm's name, with or without a tag.
        num_classes: number of logits; None leaves timm's.
        img_size: side of the input in pixels; None leaves timm's.
    """

    timm_name: str
    num_classes: int | None = None
    img_size: int | None = None

    def __post_init__(self) -> None:
        check_counts(num_classes=self.num_classes or 1, img_size=self.img_size or 1)
        super().__post_init__()
