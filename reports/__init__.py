"""Reports: from the records of runs to tables that a reader can check."""

from .console import print_results
from .corruption_scores import corruption_scores, save_corruption_scores
from .merging import Entry, Runs, merge
from .normaliser import read_normaliser
from .results import COLUMNS, results, save_results, write_results

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
