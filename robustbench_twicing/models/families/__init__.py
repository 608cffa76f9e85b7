"""Families of models with the names of their models: `deit`, `fan`, `timm` declare them.

All modules here are imported, and so what they declare is known. Nothing is built, and torch is not
loaded. `shown` and `fmnist` help several families.
"""

from importlib import import_module
from pkgutil import iter_modules

from ...errors import UserError
from .declaration import ALIASES, MODELS, declare

__all__ = ["ALIASES", "MODELS", "declare"]

for _module in sorted(module.name for module in iter_modules(__path__)):
    try:
        import_module(f"{__name__}.{_module}")
    except UserError as error:  # in a declaration: no mistake of whoever types a command
        raise ImportError(f"{__name__}.{_module} declares what cannot be: {error}") from error
