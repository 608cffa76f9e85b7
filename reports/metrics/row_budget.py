"""What a row of results.csv says of its attack: budget, steps and step size."""

from typing import Any

from robustbench_twicing.conditions.budgets import format_budget
from robustbench_twicing.conditions.condition import Condition

from ..merging.entry import Entry


def eps_255(condition: Condition) -> float | None:
    """The L-infinity budget in 255ths, in its own space; 0 for clean images, else None."""
    is_linf = condition.threat.norm == "linf"
    return float(condition.eps * 255) if _has_budget(condition) and is_linf else None


def eps_in_name(condition: Condition) -> str | None:
    """The budget as it stands in the condition's name; None where nothing is attacked."""
    has_name = condition.is_sweep or condition.is_transferred
    return format_budget(condition.eps, condition.threat.norm) if has_name else None


def eps_pixel_255(entry: Entry) -> float | None:
    """The largest change of a pixel that the budget allows, in 255ths of the pixel range."""
    condition = entry.condition
    if condition.threat.norm != "linf" and _has_budget(condition):
        return 255 * min(float(condition.eps), 1.0)
    eps = eps_255(condition)
    normalized = condition.threat.space == "normalized"
    scale = max(entry.evaluation.preprocessing.std) if normalized else 1.0
    return None if eps is None else eps * scale


def constant(condition: Condition, name: str) -> Any:
    """``steps`` or ``rel_step``; both are 1 for one step of the whole budget."""
    if condition.images is not None:
        return None
    return condition.settings.get(name, 1 if condition.about.one_step else None)


def step_size_255(condition: Condition) -> float | None:
    """The length of a step in 255ths, in the budget's own space; None where there is none."""
    eps, rel_step = eps_255(condition), constant(condition, "rel_step")
    return None if eps is None or rel_step is None else eps * rel_step


def whole(value: Any) -> int | None:
    """A whole number of 64 bits; None for what is none, as constants of other libraries may be."""
    is_small = isinstance(value, int | float) and abs(value) < 2**63
    return int(value) if is_small and value == int(value) else None


def _has_budget(condition: Condition) -> bool:
    """Clean images have one of 0; other images and radii have none."""
    return condition.images is None and not condition.about.finds_radius
