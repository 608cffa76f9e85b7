"""FAN (arXiv 2204.12451): attention over tokens, then a gate on every channel."""

from .network import Fan

__all__ = ["Fan"]
