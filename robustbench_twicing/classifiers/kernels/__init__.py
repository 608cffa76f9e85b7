"""Faster computing: the same numbers but for rounding, off with one option."""

from .choice import Kernels, choose_kernels, known_memory_format
from .network import use_onednn

__all__ = ["Kernels", "choose_kernels", "known_memory_format", "use_onednn"]
