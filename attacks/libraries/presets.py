"""Attacks of other libraries under names of our own."""

from collections.abc import Callable, Mapping
from functools import partial

from ..spec import AttackSpec
from .from_pyautoattack import NAME, autoattack
from .from_torchattacks import apgd

PRESETS: Mapping[str, Callable[[], AttackSpec]] = {
    NAME: autoattack,
    "apgd": partial(apgd, "apgd", loss="ce"),
    "apgd-dlr": partial(apgd, "apgd-dlr", loss="dlr"),
}


def preset_attack(name: str) -> AttackSpec:
    """An attack of `PRESETS`, under its name there."""
    return PRESETS[name]()
