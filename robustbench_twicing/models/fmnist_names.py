"""Small models for Fashion-MNIST, one of each family: the rows of the bundled zoo."""

from collections.abc import Iterator
from typing import Any

from ..data.preprocessing import Preprocessing
from .deit_names import DEIT, SOURCES
from .fan_names import FAN
from .spec import ModelSpec

SIDE = 28
GREY_MEAN, GREY_STD = 0.2860, 0.3530
"""Of the training split's pixels in [0, 1]."""
DEIT_SIZES = {"embed_dim": 64, "depth": 4, "num_heads": 2}
FAN_SIZES = {"embed_dim": 48, "depth": 4, "num_heads": 2}
FAMILIES = {
    "deit": (DEIT, DEIT_SIZES),
    **{family: (source, DEIT_SIZES) for family, source in SOURCES.items()},
    "fan": (FAN, FAN_SIZES),
    "fan_twicing": (FAN, FAN_SIZES),
}


def fmnist_preprocessing() -> Preprocessing:
    """28 pixels as they are; anything else is resized and cropped to 28."""
    return Preprocessing(crop=SIDE, resize=SIDE, mean=(GREY_MEAN,) * 3, std=(GREY_STD,) * 3)


def fmnist_specs() -> Iterator[ModelSpec]:
    """``fmnist_deit``, ``fmnist_neutreno``, ..., ``fmnist_fan_twicing``."""
    shared: dict[str, Any] = {"img_size": SIDE, "patch_size": 4, "num_classes": 10}
    for family, (source, sizes) in FAMILIES.items():
        yield ModelSpec(
            name=f"fmnist_{family}",
            family=family,
            sizes={**shared, **sizes},
            preprocessing=fmnist_preprocessing(),
            source=source,
        )
