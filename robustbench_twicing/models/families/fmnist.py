"""The small models for Fashion-MNIST, one of each family."""

from ...data.preprocessing import Preprocessing
from ..spec import ModelSpec

SIDE = 28
GREY_MEAN, GREY_STD = 0.2860, 0.3530
"""Of the training split's pixels in [0, 1]."""


def fmnist_spec(family: str, source: str, *, embed_dim: int = 64) -> ModelSpec:
    """``fmnist_deit`` and so on: 28 pixels as they are; anything else is resized and cropped."""
    return ModelSpec(
        name=f"fmnist_{family}",
        family=family,
        sizes={
            "img_size": SIDE,
            "patch_size": 4,
            "num_classes": 10,
            "embed_dim": embed_dim,
            "depth": 4,
            "num_heads": 2,
        },
        preprocessing=Preprocessing(
            crop=SIDE, resize=SIDE, mean=(GREY_MEAN,) * 3, std=(GREY_STD,) * 3
        ),
        source=source,
    )
