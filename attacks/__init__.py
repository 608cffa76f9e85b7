"""Attacks: pure functions from model, images and labels to adversarial images."""

from .corruptions import corruption_condition
from .fgsm import fgsm
from .finding import find_attack
from .noise import noise
from .pgd import pgd
from .pgd_any import pgd_any
from .spec import AttackSpec
from .spsa import spsa, spsa_any
from .table import ATTACKS

__all__ = [
    "ATTACKS",
    "AttackSpec",
    "corruption_condition",
    "fgsm",
    "find_attack",
    "noise",
    "pgd",
    "pgd_any",
    "spsa",
    "spsa_any",
]
