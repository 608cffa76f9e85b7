"""An attack's constants, read from its constructor, and its paper, from its docstring."""

import inspect
import re
from typing import Any

from .blocks import BLOCK

NOT_CONSTANTS = frozenset(
    {
        "self",
        "model",
        "norm",
        "eps",
        "max_epsilon",
        "seed",
        "verbose",
        "device",
        "tensorboard",
        "init_attack",
        "abs_stepsize",
        "check_trivial",
    }
)
"""Arguments that the suite sets, or that have no place in a record."""


def constants_of(constructor: type) -> dict[str, Any]:
    """Names and defaults of the constants, with the block size first."""
    constants: dict[str, Any] = {"block": BLOCK}
    for parameter in inspect.signature(constructor).parameters.values():
        plain = isinstance(parameter.default, (bool, int, float, str))
        if plain and parameter.name not in NOT_CONSTANTS:
            constants[parameter.name] = parameter.default
    return constants


def source_of(constructor: type, otherwise: str) -> str:
    """The arXiv address in the docstring, or that of the library."""
    address = re.search(r"https?://arxiv\.org/\w+/[\w.\-]+", constructor.__doc__ or "")
    return address.group().rstrip(".") if address else otherwise
