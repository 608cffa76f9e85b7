"""Fashion-MNIST (Zalando SE, MIT licence): a bundled cut, and the whole files from a folder."""

from .opening import (
    CLASSES,
    CUT,
    LABELLING,
    TEST,
    TRAIN,
    is_fashion_mnist,
    open_fashion_mnist,
)

__all__ = [
    "CLASSES",
    "CUT",
    "LABELLING",
    "TEST",
    "TRAIN",
    "is_fashion_mnist",
    "open_fashion_mnist",
]
