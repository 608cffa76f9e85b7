"""The table of models: every name of ours and of the papers' repositories."""

from fnmatch import fnmatchcase

from .families import ALIASES, MODELS

__all__ = ["ALIASES", "MODELS", "list_models"]


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
