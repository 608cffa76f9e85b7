"""`build_model`: from a family and its sizes to a network."""

from typing import TYPE_CHECKING, Any

from . import families  # noqa: F401 - declares them
from .family import FAMILIES, read_sizes

if TYPE_CHECKING:
    from torch import nn


def build_model(family: str, **sizes: Any) -> "nn.Module":
    """Build the bare network of one family, on normalised input, with fresh weights.

    Args:
        family: ``deit``, ``deit_distilled``, ``neutreno``, ``featscale``, ``attnscale``,
            ``twicing``, ``fan``, ``fan_twicing``, ``fan_hybrid``, ``timm`` or one of your own.
        **sizes: fields of that family's class of sizes; what is left out is DeiT-tiny's or
            FAN-tiny's.

    Returns:
        A network in eval mode: (B, 3, H, W) normalised images to (B, K) logits.

    Raises:
        UserError: an unknown family, an unknown size, or sizes that do not fit together.
    """
    checked = read_sizes(family, sizes)
    network = FAMILIES[family].build(checked)
    # Imported here: names and sizes can be read without waiting for torch and timm.
    from .attention import set_attention

    set_attention(network, checked.attention)
    return network.eval()
