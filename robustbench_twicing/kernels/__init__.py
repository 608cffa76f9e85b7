"""Faster fp32 on the CPU: the same numbers but for rounding, off with one option."""

from .choice import Kernels, choose_kernels
from .network import use_onednn

__all__ = ["Kernels", "choose_kernels", "use_onednn"]
