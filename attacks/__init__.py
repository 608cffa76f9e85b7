"""Attacks: pure functions from model, images and labels to adversarial images."""

from .fgsm import fgsm
from .pgd import pgd
from .table import ATTACKS, AttackSpec

__all__ = ["ATTACKS", "AttackSpec", "fgsm", "pgd"]
