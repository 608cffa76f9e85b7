"""Fashion-MNIST (Zalando SE, MIT licence): a bundled cut, and the whole files from a folder."""

from .opening import CUT, TEST, TRAIN, is_fashion_mnist, open_fashion_mnist

__all__ = ["CUT", "TEST", "TRAIN", "is_fashion_mnist", "open_fashion_mnist"]
