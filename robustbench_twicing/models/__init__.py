"""Every model by name or by family and sizes, as a bare network on normalised input."""

from .build import build_model
from .facts import ModelFacts, model_facts
from .resolve import resolve_model
from .spec import ModelSpec
from .table import MODELS, list_models

__all__ = [
    "MODELS",
    "ModelFacts",
    "ModelSpec",
    "build_model",
    "list_models",
    "model_facts",
    "resolve_model",
]
