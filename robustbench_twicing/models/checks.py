"""Checks that the sizes of every family share."""

from typing import Literal, get_args

from ..errors import UserError

AttentionForm = Literal["auto", "explicit", "fused"]


def check_counts(**counts: object) -> None:
    """Raise UserError unless everything is a whole number above zero (or a tuple of such)."""
    for name, value in counts.items():
        for count in value if isinstance(value, tuple) else (value,):
            if type(count) is not int or count < 1:
                raise UserError(f"{name} {value!r} must be a whole number above 0")


def check_attention(attention: str) -> None:
    """Raise UserError unless this names a form of attention."""
    if attention not in get_args(AttentionForm):
        raise UserError(f"attention {attention!r} is none of {', '.join(get_args(AttentionForm))}")


def check_heads(embed_dim: int, num_heads: int, *, name: str = "num_heads") -> None:
    """Raise UserError unless the heads share the width evenly."""
    if embed_dim % num_heads:
        raise UserError(f"embed_dim {embed_dim} does not divide by {name} {num_heads}")
