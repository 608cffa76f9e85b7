"""State dicts in the layouts of others, with the keys that networks have here."""

from collections.abc import Mapping

from torch import Tensor

from ..models.fan.old_keys import modernise
from ..models.vit.transformers_keys import from_transformers, is_transformers


def in_our_keys(
    state_dict: Mapping[str, Tensor],
) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """Rename the keys of early FAN releases, and of transformers' ViT and DeiT.

    Args:
        state_dict: keys without prefixes; those of other layouts stay.

    Returns:
        A new dict, and a sentence on what was renamed.

    Raises:
        UserError: an old and a new key of the same thing, or a fused tensor that is no q, k, v.
    """
    if is_transformers(state_dict):
        return from_transformers(state_dict), (
            "Keys of transformers' layout were renamed, and q, k and v of each block joined.",
        )
    modern = modernise(state_dict)
    if modern.keys() != state_dict.keys():
        return modern, ("Keys of an early FAN release were renamed to those of today's.",)
    return modern, ()
