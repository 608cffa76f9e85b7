"""`build_model`: from a family and its sizes to a network."""

from typing import TYPE_CHECKING, Any

from .fan_sizes import FanSizes
from .sizes import DeitSizes, Sizes, read_sizes

if TYPE_CHECKING:
    from torch import nn


def build_model(family: str, **sizes: Any) -> "nn.Module":
    """Build the bare network of one family, on normalised input, with fresh weights.

    Args:
        family: ``deit``, ``deit_distilled``, ``neutreno``, ``featscale``, ``attnscale``,
            ``twicing``, ``fan``, ``fan_twicing``, ``fan_hybrid`` or ``timm``.
        **sizes: fields of that family's class in `models.sizes`; what is left out is DeiT-tiny's or
            FAN-tiny's.

    Returns:
        A network in eval mode: (B, 3, H, W) normalised images to (B, K) logits.

    Raises:
        UserError: an unknown family, an unknown size, or sizes that do not fit together.
    """
    checked = read_sizes(family, sizes)
    network = _build(family, checked)
    from .attention import set_attention

    set_attention(network, checked.attention)
    return network.eval()


def _build(family: str, sizes: Sizes) -> "nn.Module":
    # Imported here: names and sizes can be read without waiting for torch and timm.
    if isinstance(sizes, DeitSizes):
        from .vit import build_vit

        return build_vit(family, sizes)
    if isinstance(sizes, FanSizes):
        from .fan import Fan

        return Fan(sizes)
    from .timm_models import build_timm

    return build_timm(sizes)
