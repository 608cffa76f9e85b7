"""Which layers are twicing: ``[10-12]`` in printed names, 0-based indices in the code."""

import re
from collections.abc import Sequence
from itertools import groupby

from ..errors import UserError

_NAME = re.compile(r"(?P<model>[^\[\]]+)\[(?P<placement>[^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")


def split_placement(name: str) -> tuple[str, str | None]:
    """Split ``model[10-12]`` into ``model`` and ``10-12``; None where there are no brackets.

    Raises:
        UserError: brackets that do not close, or something after them.
    """
    if "[" not in name and "]" not in name:
        return name, None
    parts = _NAME.fullmatch(name)
    if parts is None:
        raise UserError(f"{name!r} does not end in one layer placement; write it like model[10-12]")
    return parts["model"], parts["placement"]


def parse_placement(text: str, depth: int) -> tuple[int, ...]:
    """Read ``10-12`` or ``1-3,12``, 1-based and inclusive, as the paper prints it.

    Args:
        text: what stands between the brackets.
        depth: number of layers of the model.

    Returns:
        0-based layer indices in ascending order.

    Raises:
        UserError: not a placement, a layer the model does not have, or a layer named twice.
    """
    layers: list[int] = []
    for item in text.split(","):
        ends = _RANGE.fullmatch(item.strip())
        if ends is None:
            raise UserError(f"placement [{text}] is not a list of layers; write it like [10-12]")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if not 1 <= first <= last <= depth:
            raise UserError(
                f"placement [{text}] does not fit: layers count upwards from 1 to {depth}; write "
                f"it like [{max(1, depth - 1)}-{depth}]"
            )
        layers.extend(range(first - 1, last))
    if len(set(layers)) < len(layers):
        raise UserError(f"placement [{text}] names a layer twice; write each layer once")
    return tuple(sorted(layers))


def format_placement(layers: Sequence[int]) -> str:
    """Write 0-based indices as the paper prints them: (9, 10, 11) is ``[10-12]``."""
    runs = []
    for _, run in groupby(enumerate(sorted(layers)), lambda pair: pair[1] - pair[0]):
        numbers = [layer + 1 for _, layer in run]
        runs.append(f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}")
    return f"[{','.join(runs)}]"


def check_layers(layers: Sequence[int] | None, depth: int) -> tuple[int, ...]:
    """The twicing layers of a model in ascending order; None means all of them.

    Args:
        layers: 0-based indices.
        depth: number of layers of the model.

    Raises:
        UserError: no layer at all, a layer the model does not have, or a layer named twice.
    """
    if layers is None:
        return tuple(range(depth))
    if not all(type(layer) is int for layer in layers):
        raise UserError(f"layers {layers!r} are not 0-based indices; write them like (9, 10, 11)")
    if not layers:
        raise UserError("layers is empty; leave it out for all layers, or name at least one")
    outside = [layer for layer in layers if not 0 <= layer < depth]
    if outside:
        raise UserError(f"no layer {outside[0]} in a model of {depth}; layers are 0 to {depth - 1}")
    if len(set(layers)) < len(layers):
        raise UserError(f"layers {tuple(layers)} name one twice; write each layer once")
    return tuple(sorted(layers))
