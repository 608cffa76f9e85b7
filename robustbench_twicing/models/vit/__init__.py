"""DeiT and its attention variants, on timm's VisionTransformer."""
