"""What the keys and shapes of a state dict show of a network's sizes, whatever its family."""

import re
from math import isqrt

from ..family import Shapes

_BLOCK = re.compile(r"blocks\.(\d+)\.")


def length(shapes: Shapes, key: str, axis: int = 0) -> int | None:
    """The length of one tensor along an axis; None where it is not there."""
    shape = shapes.get(key)
    return shape[axis] if shape else None


def depth(shapes: Shapes) -> int:
    """The number of ``blocks``."""
    numbers = [int(block[1]) for block in map(_BLOCK.match, shapes) if block]
    return 1 + max(numbers, default=-1)


def grid(shapes: Shapes, extra: int) -> int | None:
    """The side of a learned position embedding in patches, where it is square.

    Args:
        shapes: of the state dict.
        extra: number of tokens before the patches.
    """
    positions = shapes.get("pos_embed", ())
    cells = positions[1] - extra if len(positions) == 3 else 0
    return isqrt(cells) if cells > 0 and isqrt(cells) ** 2 == cells else None
