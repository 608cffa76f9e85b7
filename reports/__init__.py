"""Reports: from the records of runs to tables that a reader can check."""

from .console import print_results
from .merging import Entry, Runs, merge
from .results import COLUMNS, results, save_results, write_results

__all__ = [
    "COLUMNS",
    "Entry",
    "Runs",
    "merge",
    "print_results",
    "results",
    "save_results",
    "write_results",
]
