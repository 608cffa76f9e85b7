"""The bundled zoo: one small trained model of each family, on Fashion-MNIST."""

from .bundled import ZOO, bundled_file

__all__ = ["ZOO", "bundled_file"]
