"""DeiT and its attention variants, on timm's VisionTransformer."""

from .deit import build_vit

__all__ = ["build_vit"]
