"""Mean and std that a checkpoint keeps: buffers of a normalising layer, or settings beside them."""

import math
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from torch import Tensor

from ..data.preprocessing import RGB
from ..errors import UserError
from .contents import entries, strip_prefixes
from .declared import ARGUMENTS, training_facts
from .differences import prefix_before

_NAMES = re.compile(
    r"(?P<layer>(?:[\w]+\.)*)(?:(?P<mean>mu|mean|pixel_mean|image_mean)|"
    r"(?P<std>sigma|std|pixel_std|image_std))"
)


class Constants(NamedTuple):
    """What a file's own normalisation is.

    Attributes:
        mean: of pixels in [0, 1].
        std: of these.
        keys: by which they are in the file.
    """

    mean: RGB
    std: RGB
    keys: tuple[str, str]


def take_constants(
    state_dict: Mapping[str, Tensor], network: Collection[str], source: str
) -> tuple[dict[str, Tensor], Constants | None]:
    """Take mean and std out of a state dict, where a network's normalising layer left them.

    Args:
        state_dict: of a file.
        network: keys of the network that is to have the weights; what it has itself stays.
        source: what errors call the file.

    Returns:
        The weights, without the prefix that only told them from the normalising layer; and the
        constants, None where there are none.

    Raises:
        UserError: one without the other, several, or values that are no three numbers.
    """
    kinds: dict[str, list[str]] = {"mean": [], "std": []}
    for key in state_dict:
        named = _NAMES.fullmatch(key)
        if named is not None and key not in network:
            kinds["mean" if named["mean"] else "std"].append(key)
    means, stds = kinds["mean"], kinds["std"]
    if not means and not stds:
        return dict(state_dict), None
    if len(means) != 1 or len(stds) != 1:
        raise UserError(
            f"{source} keeps constants of a normalisation among its weights "
            f"({', '.join([*means, *stds])}) that are not one mean and one std; leave them out of "
            "the file, and say --mean and --std"
        )
    keys = (means[0], stds[0])
    values = [_triple(key, state_dict[key], source) for key in keys]
    mean, std = _of_pixels(*values)
    rest = {key: tensor for key, tensor in state_dict.items() if key not in keys}
    rest, _ = strip_prefixes(rest, network)
    if prefix := prefix_before(network, rest):
        rest = {key.removeprefix(prefix): tensor for key, tensor in rest.items()}
    return rest, Constants(mean, std, keys)


def declared_constants(content: Any) -> Constants | None:
    """Mean and std that a training file has beside its weights; None where it has not both.

    Args:
        content: of the file, which has them at the top or among its arguments.
    """
    facts = training_facts(content)
    homes = {"": dict(entries(content)), **{home: facts.get(home) for home in ARGUMENTS}}
    for home, values in homes.items():
        if not isinstance(values, dict) or values.get("mean") is None or values.get("std") is None:
            continue
        pair = [_numbers(values[name]) for name in ("mean", "std")]
        if pair[0] is not None and pair[1] is not None:
            mean, std = _of_pixels(pair[0], pair[1])
            names = [f"{home}.{name}".removeprefix(".") for name in ("mean", "std")]
            return Constants(mean, std, (names[0], names[1]))
    return None


def _numbers(value: Any) -> RGB | None:
    """Three finite numbers, as one, as three or as text of three; None for anything else."""
    if isinstance(value, Tensor):
        value = [str(number) for number in value.float().flatten()[:4].numpy()]
    parts = re.findall(r"[^\s,\[\]()]+", value) if isinstance(value, str) else value
    parts = list(parts[:4]) if isinstance(parts, (list, tuple)) else [parts]
    try:
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError):
        return None
    if len(numbers) not in (1, 3) or not all(map(math.isfinite, numbers)) or min(numbers) < 0:
        return None
    red, green, blue = numbers * 3 if len(numbers) == 1 else numbers
    return red, green, blue


def _triple(key: str, tensor: Tensor, source: str) -> RGB:
    if tensor.numel() not in (1, 3) or not tensor.is_floating_point():
        raise UserError(
            f"{source}: {key} {tuple(tensor.shape)} is called like a constant of a normalisation "
            "and is no three numbers; leave it out of the file"
        )
    # The shortest numbers that stand for these float32: 0.485, not 0.48500001430511475.
    values = [float(str(value)) for value in tensor.float().flatten().numpy()]
    red, green, blue = values * 3 if len(values) == 1 else values
    return red, green, blue


def _of_pixels(mean: RGB, std: RGB) -> tuple[RGB, RGB]:
    """Constants for pixels up to 255 become those for pixels in [0, 1]."""
    if max(mean) <= 1:
        return mean, std
    (r, g, b), (s, t, u) = mean, std
    return (r / 255, g / 255, b / 255), (s / 255, t / 255, u / 255)
