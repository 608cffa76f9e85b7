"""Attacks of other libraries, and a user's own, under the suite's contract and records."""

from .from_foolbox import FOOLBOX, foolbox_attack
from .from_torchattacks import TORCHATTACKS, torchattacks_attack
from .own_function import own_attack
from .presets import PRESETS, preset_attack

__all__ = [
    "FOOLBOX",
    "PRESETS",
    "TORCHATTACKS",
    "foolbox_attack",
    "own_attack",
    "preset_attack",
    "torchattacks_attack",
]
