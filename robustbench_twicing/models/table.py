"""The table of models: every name of ours and of the papers' repositories."""

from fnmatch import fnmatchcase

from ..registry import Registry
from .fan_names import fan_specs
from .names import deit_specs, fmnist_specs
from .spec import ModelSpec

MODELS: Registry[ModelSpec] = Registry("model")
"""Canonical name -> what it means."""
ALIASES: Registry[str] = Registry("alias")
"""Other spelling -> canonical name."""


def list_models(pattern: str | None = None) -> list[str]:
    """Every name that is ours, aliases included, sorted.

    Args:
        pattern: keep names that contain it, or that match it where it has ``*``, ``?`` or ``[``.
    """
    names = sorted([*MODELS, *ALIASES])
    if pattern is None:
        return names
    if not set(pattern) & set("*?["):
        pattern = f"*{pattern}*"
    return [name for name in names if fnmatchcase(name, pattern)]


for _spec in (*deit_specs(), *fan_specs(), *fmnist_specs()):
    MODELS[_spec.name] = _spec
    for _alias in _spec.aliases:
        ALIASES[_alias] = _spec.name
