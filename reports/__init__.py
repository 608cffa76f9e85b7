"""Reports: from the records of runs to tables that a reader can check.

The names below are loaded on first use, so that names of presets need no pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robustbench_twicing.errors import MovedModules

if TYPE_CHECKING:
    from .console import print_results
    from .imagenet_c.corruption_scores import corruption_scores, save_corruption_scores
    from .imagenet_c.reference_errors import read_normaliser
    from .merging.entry import Entry
    from .merging.merge import merge
    from .merging.runs import Runs
    from .metrics.results import COLUMNS, results, save_results, write_results
    from .metrics.worst import with_worst

__all__ = [
    "COLUMNS",
    "Entry",
    "Runs",
    "corruption_scores",
    "merge",
    "print_results",
    "read_normaliser",
    "results",
    "save_corruption_scores",
    "save_results",
    "with_worst",
    "write_results",
]

_HOMES = {
    "Entry": ".merging.entry",
    "Runs": ".merging.runs",
    "corruption_scores": ".imagenet_c.corruption_scores",
    "merge": ".merging.merge",
    "print_results": ".console",
    "read_normaliser": ".imagenet_c.reference_errors",
    "save_corruption_scores": ".imagenet_c.corruption_scores",
    "with_worst": ".metrics.worst",
}
"""Of the names above; those that are not here are of `metrics.results`."""

_MOVED = {
    "comparison": "statistics.comparison",
    "corruption_error": "imagenet_c.corruption_error",
    "corruption_scores": "imagenet_c.corruption_scores",
    "diagnostics": "metrics.diagnostics",
    "intervals": "statistics.intervals",
    "paired": "statistics.paired",
    "results": "metrics.results",
    "sweeps": "metrics.sweeps",
}
"""Modules of version 0.1 that code outside may have imported, and where they are now."""
_moved = MovedModules(__name__, _MOVED)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, ".metrics.results"), __name__), name)
    _moved.check(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
