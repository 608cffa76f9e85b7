"""ImageNet-C on numpy, scipy and Pillow: 19 corruptions at five severities, seeded per image."""

from .frost_textures import frost_textures
from .pixels import is_imagenet_c_size
from .severity import SEVERITIES
from .streams import image_rng
from .table import CORRUPTIONS, EXTRA, MAIN, CorruptionSpec, corrupt

__all__ = [
    "CORRUPTIONS",
    "EXTRA",
    "MAIN",
    "SEVERITIES",
    "CorruptionSpec",
    "corrupt",
    "frost_textures",
    "image_rng",
    "is_imagenet_c_size",
]
