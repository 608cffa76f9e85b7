"""ImageNet-C on numpy, scipy and Pillow: 19 corruptions at five severities, seeded per image."""

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, SEVERITIES

from .condition import corruption_condition
from .frost_textures import frost_textures
from .generated import GeneratedImages
from .imaging.pixels import is_imagenet_c_size
from .official import OfficialImages
from .parameters import image_rng
from .table import CORRUPTIONS, CorruptionSpec, corrupt

__all__ = [
    "CORRUPTIONS",
    "EXTRA",
    "MAIN",
    "SEVERITIES",
    "CorruptionSpec",
    "GeneratedImages",
    "OfficialImages",
    "corrupt",
    "corruption_condition",
    "frost_textures",
    "image_rng",
    "is_imagenet_c_size",
]
