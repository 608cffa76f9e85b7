"""ImageNet-C on numpy, scipy and Pillow: 19 corruptions at five severities, seeded per image.

Each module declares its own (`declaration`); all of them are imported here, and so declared.
"""

from importlib import import_module
from pkgutil import iter_modules

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, SEVERITIES

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

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")
