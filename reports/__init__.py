"""Reports: from the records of runs to tables that a reader can check."""

from robustbench_twicing.errors import MovedModules

from .console import print_results
from .imagenet_c.corruption_scores import corruption_scores, save_corruption_scores
from .imagenet_c.normaliser import read_normaliser
from .merging.merge import merge
from .merging.runs import Entry, Runs
from .metrics.results import COLUMNS, results, save_results, write_results

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
    "write_results",
]

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


def __getattr__(name: str) -> object:
    _moved.check(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
