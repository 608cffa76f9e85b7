"""ImageNet-C on numpy, scipy and Pillow: 19 corruptions at five severities, seeded per image.

The modules that declare corruptions are imported here, and each declaration adds its own.
"""

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, SEVERITIES

from . import blur, colour, digital, elastic, glass, noise, spatter, weather  # noqa: F401
from .condition import corruption_condition
from .declaration import CORRUPTIONS, CorruptionSpec, corruption
from .frost_textures import frost_textures
from .generated import GeneratedImages, corrupt, image_rng
from .imaging.pixels import is_imagenet_c_size
from .official import OfficialImages

__all__ = [
    "CORRUPTIONS",
    "EXTRA",
    "MAIN",
    "SEVERITIES",
    "CorruptionSpec",
    "GeneratedImages",
    "OfficialImages",
    "corrupt",
    "corruption",
    "corruption_condition",
    "frost_textures",
    "image_rng",
    "is_imagenet_c_size",
]
