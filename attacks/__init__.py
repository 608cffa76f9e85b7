"""Attacks: pure functions from model, images and labels to adversarial images.

Each module declares its own (`declaration`); all of them are imported here, and so declared.
"""

from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules

from .corruptions import corruption_condition
from .declaration import attack
from .fgsm import fgsm
from .finding import attack_name, find_attack
from .fmn import fmn
from .noise import noise
from .patch import patch, patch_attention, patch_gradient, patch_random
from .pgd import pgd
from .pgd_any import pgd_any
from .spec import ATTACKS, AttackSpec
from .spsa import spsa, spsa_any

__all__ = [
    "ATTACKS",
    "AttackSpec",
    "attack",
    "attack_name",
    "corruption_condition",
    "fgsm",
    "find_attack",
    "fmn",
    "noise",
    "patch",
    "patch_attention",
    "patch_gradient",
    "patch_random",
    "pgd",
    "pgd_any",
    "spsa",
    "spsa_any",
]

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
for _spec in ATTACKS.values():
    if isfunction(_spec.function):  # a module of its name would stand there else
        globals()[_spec.function.__name__] = _spec.function
