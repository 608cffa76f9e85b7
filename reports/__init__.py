"""Reports: from the records of runs to tables that a reader can check."""

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
