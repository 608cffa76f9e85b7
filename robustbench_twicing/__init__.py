"""Adversarial-robustness evaluation of vision transformers: a number one can trust.

The names below are loaded on first use, so that ``--help`` needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import MovedModules

if TYPE_CHECKING:
    from .classifiers.loading import load_model
    from .cli.api import evaluate, results
    from .models.build import build_model
    from .models.table import list_models

__version__ = "0.1.0"
__all__ = ["__version__", "build_model", "evaluate", "list_models", "load_model", "results"]

_HOMES = {
    "build_model": ".models.build",
    "evaluate": ".cli.api",
    "list_models": ".models.table",
    "load_model": ".classifiers.loading",
    "results": ".cli.api",
}


_MOVED = {
    "attack_batch": "conditions.attack_batch",
    "budgets": "conditions.budgets",
    "classifier": "classifiers.classifier",
    "imagenet_c": "data.imagenet_c",
    "loading": "classifiers.loading",
    "preprocessing": "data.preprocessing",
    "protocols": "conditions.threat_model",
    "runner": "evaluation.runner",
    "suites": "conditions.suites",
    "threat": "conditions.threat_model",
    "zoo": "checkpoints.bundled",
}
"""Modules of version 0.1 that code outside may have imported, and where they are now."""
_moved = MovedModules(__name__, _MOVED)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        _moved.check(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
