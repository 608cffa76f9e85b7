"""Declare a family of models together with the names of its models."""

from ...registry import Registry
from ..family import FAMILIES, Family
from ..spec import ModelSpec

MODELS: Registry[ModelSpec] = Registry("model")
"""Canonical name -> what it means."""
ALIASES: Registry[str] = Registry("alias")
"""Other spelling -> canonical name."""


def declare(family: Family, *models: ModelSpec) -> None:
    """Make a family known by its name: that is all it takes to evaluate its models.

    A checkpoint is recognised by the keys and shapes of its models' networks, which are built for
    that without memory; so are the families whose files cannot be told apart.

    Args:
        family: what it is.
        models: its models by name, in the order in which they are listed.

    Raises:
        ValueError: another family, model or alias has the name.
    """
    FAMILIES[family.name] = family
    for model in models:
        MODELS[model.name] = model
        for alias in model.aliases:
            ALIASES[alias] = model.name
